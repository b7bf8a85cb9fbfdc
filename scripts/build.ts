// npm run build: packages/<name>/dist becomes what is published of each public package, or what those need of a private
// one. Nothing in the repository runs it.
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildConfiguration, CONFIGURATION_FOLDER } from "./build/compiler-options.ts";
import { copiedAssets, type PackageManifest, publishedManifest } from "./build/manifest.ts";
import { inBuildOrder, type WorkspacePackage } from "./build/order.ts";
import { runCommand } from "./command.ts";
import { root } from "./root.ts";

const built: WorkspacePackage[] = [];
for (const one of inBuildOrder(await builtPackages())) {
  const began = performance.now();
  await rm(join(root, one.folder, "dist"), { recursive: true, force: true });
  if (!(await compile(one))) {
    process.exitCode = 1;
    break;
  }
  await complete(one);
  built.push(one);
  console.log(
    `${one.manifest.name} ${one.manifest.version}: ${one.folder}/dist, ${((performance.now() - began) / 1_000).toFixed(1)} s`,
  );
}

/** The packages that Node runs; the page has a build of its own. */
async function builtPackages(): Promise<WorkspacePackage[]> {
  const found: WorkspacePackage[] = [];
  for await (const path of glob("packages/*/package.json", { cwd: root })) {
    const manifest: PackageManifest = JSON.parse(await readFile(join(root, path), "utf8"));
    if (manifest.exports ?? manifest.bin) found.push({ folder: dirname(path), manifest });
  }
  return found;
}

async function compile(one: WorkspacePackage): Promise<boolean> {
  const configuration = join(root, CONFIGURATION_FOLDER, `${one.manifest.name.replace("/", "-")}.json`);
  await mkdir(dirname(configuration), { recursive: true });
  await writeFile(configuration, JSON.stringify(buildConfiguration(one, built), undefined, 2));
  const result = await runCommand(["node_modules/typescript/bin/tsc", "-p", configuration], {
    deadline: 300,
  });
  if (!result.succeeded) console.error(`${one.manifest.name} does not compile:\n${result.output}`);
  return result.succeeded;
}

async function complete({ folder, manifest }: WorkspacePackage): Promise<void> {
  const source = join(root, folder);
  const target = join(source, "dist");
  const published = publishedManifest(manifest);
  await writeFile(join(target, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  await copyFile(join(root, "LICENSE"), join(target, "LICENSE"));
  for (const asset of ["README.md", ...copiedAssets(manifest)]) {
    if (existsSync(join(source, asset)))
      await cp(join(source, asset), join(target, asset), { recursive: true });
  }
  for (const program of Object.values(manifest.bin ?? {})) {
    await chmod(join(target, program.replace(/\.ts$/, ".js")), 0o755);
  }
}
