import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { importsOf } from "./imports.ts";
import { FOR_TESTS, LINE_LIMIT, MAY_IMPORT, REACHES_ALL_PACKAGES, SCOPE, SHARED_WITH_TESTS } from "./rows.ts";
import type { Manifest, SourceFile, SourceTree } from "./tree.ts";

/** Everything in a tree that breaks a rule of ARCHITECTURE.md, one sentence each. */
export function violations(tree: SourceTree): string[] {
  const inManifests = [...tree.manifests].flatMap(([folder, manifest]) =>
    manifestViolations(folder, manifest, tree.manifests).map(
      (text) => `packages/${folder}/package.json: ${text}`,
    ),
  );
  const inFiles = tree.files.flatMap((file) => fileViolations(file).map((text) => `${file.path}: ${text}`));
  return [...inManifests, ...inFiles];
}

function manifestViolations(
  folder: string,
  manifest: Manifest,
  all: ReadonlyMap<string, Manifest>,
): string[] {
  const row = MAY_IMPORT.get(folder);
  if (!row) return ["has no row in scripts/architecture/rows.ts"];
  const found: string[] = [];
  if (manifest.name !== SCOPE + folder) found.push(`is named ${manifest.name}, not ${SCOPE}${folder}`);
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = manifest;
  const declared = { ...dependencies, ...devDependencies, ...peerDependencies, ...optionalDependencies };
  for (const [name, version] of Object.entries(declared)) {
    if (!name.startsWith(SCOPE)) continue;
    const target = name.slice(SCOPE.length);
    const isForTests = FOR_TESTS.has(target) && devDependencies?.[name] !== undefined;
    if (!row.includes(target) && !isForTests) found.push(`depends on ${name}, which its row does not name`);
    const current = all.get(target)?.version;
    if (version !== current) found.push(`depends on ${name} ${version}, but that is at ${current}`);
  }
  return found;
}

function fileViolations(file: SourceFile): string[] {
  const found: string[] = [];
  const lines = file.text.replace(/\n$/, "").split("\n").length;
  const most = isTestCode(file.path) ? LINE_LIMIT.other : LINE_LIMIT.source;
  if (lines > most) found.push(`has ${lines} lines, more than ${most}`);
  const { specifiers, exportsAll } = importsOf(file.path, file.text);
  if (exportsAll) found.push("uses `export *`; name what is exported");
  for (const specifier of specifiers) {
    const problem = importProblem(file.path, specifier);
    if (problem) found.push(`imports ${specifier}, ${problem}`);
  }
  return found;
}

function importProblem(path: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return relativeProblem(path, posix.join(posix.dirname(path), specifier));
  if (specifier.startsWith("node:")) return undefined;
  if (isBuiltin(specifier)) return "a builtin, without `node:`";
  if (isBootstrap(path)) return "but runs before anything is installed";
  if (!specifier.startsWith(SCOPE)) return undefined;
  const own = packageOf(path);
  const target = specifier.slice(SCOPE.length).split("/")[0] ?? "";
  if (own === undefined || own === target || MAY_IMPORT.get(own)?.includes(target)) return undefined;
  if (isTestCode(path) && FOR_TESTS.has(target)) return undefined;
  return `which the row of ${own} does not name`;
}

function relativeProblem(path: string, target: string): string | undefined {
  if (homeOf(path) === homeOf(target)) return undefined;
  if (isTestCode(path) && SHARED_WITH_TESTS.has(target)) return undefined;
  // The scripts may read the files at the root, such as package.json.
  if (homeOf(path) === "scripts" && !target.includes("/")) return undefined;
  if (REACHES_ALL_PACKAGES.has(path)) return undefined;
  return `which is outside ${homeOf(path)}`;
}

/** The folder a file must stay in: its package, `scripts` or `examples`. */
function homeOf(path: string): string {
  const own = packageOf(path);
  return own === undefined ? (path.split("/")[0] ?? "") : `packages/${own}`;
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

function isTestCode(path: string): boolean {
  return path.endsWith(".test.ts") || /^packages\/[^/]+\/(bench|system|test|torture)\//.test(path);
}

function isBootstrap(path: string): boolean {
  return /^scripts\/bootstrap(\/|\.mjs$)/.test(path) && !path.endsWith(".test.ts");
}
