// npm run build: packages/<name>/dist becomes what is published: libraries with declarations, and the command with the
// server and the page in it. What they need of private packages is copied into them. Nothing in the repository runs it.
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildConfiguration, CONFIGURATION_FOLDER } from "./build/compiler-options.ts";
import { copiedAssets, type PackageManifest, publishedManifest } from "./build/manifest.ts";
import { inBuildOrder, type WorkspacePackage } from "./build/order.ts";
import { buildProgram } from "./build/program.ts";
import { findPublished } from "./build/published.ts";
import { vendorPrivate } from "./build/vendor.ts";
import { runCommand } from "./command.ts";
import { root } from "./root.ts";

const { libraries, vendored, program } = await findPublished(root);
const built: WorkspacePackage[] = [];
for (const one of inBuildOrder([...libraries, ...vendored])) {
  await clear(one);
  await compile(one);
  built.push(one);
}
for (const library of libraries) {
  const manifest = await vendorPrivate(root, library, vendored);
  await complete(library, manifest);
  console.log(`${manifest.name} ${manifest.version}: ${library.folder}/dist`);
}
for (const { folder } of vendored) await rm(join(root, folder, "dist"), { recursive: true });
await clear(program);
await buildProgram(root, program);
for (const file of ["LICENSE", join(program.folder, "README.md")])
  await copyFile(join(root, file), join(root, program.folder, "dist", file.split("/").at(-1) ?? ""));
console.log(`reins ${program.manifest.version}: ${program.folder}/dist`);

function clear({ folder }: WorkspacePackage): Promise<void> {
  return rm(join(root, folder, "dist"), { recursive: true, force: true });
}

async function compile(one: WorkspacePackage): Promise<void> {
  const configuration = join(root, CONFIGURATION_FOLDER, `${one.manifest.name.replace("/", "-")}.json`);
  await mkdir(dirname(configuration), { recursive: true });
  await writeFile(configuration, JSON.stringify(buildConfiguration(one, built), undefined, 2));
  const result = await runCommand(["node_modules/typescript/bin/tsc", "-p", configuration], {
    deadline: 300,
  });
  if (!result.succeeded) throw new Error(`${one.manifest.name} does not compile:\n${result.output}`);
}

async function complete({ folder }: WorkspacePackage, manifest: PackageManifest): Promise<void> {
  const source = join(root, folder);
  const target = join(source, "dist");
  const published = publishedManifest(manifest);
  await writeFile(join(target, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  await copyFile(join(root, "LICENSE"), join(target, "LICENSE"));
  for (const asset of ["README.md", ...copiedAssets(manifest)]) {
    if (existsSync(join(source, asset)))
      await cp(join(source, asset), join(target, asset), { recursive: true });
  }
}
