import { readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { parseSync, Visitor } from "vite";
import { expect, test } from "vitest";
import { root } from "../root.ts";
import { readTree, type SourceFile } from "./tree.ts";

/** Where the threads of the store begin. */
const THREADS = ["sqlite/thread.ts", "postgres/thread.ts"].map((path) => `packages/store/src/${path}`);
/** Where the thread that is connected to PostgreSQL begins, which has no tables. */
const CONNECTOR = "packages/store/src/postgres/connector.ts";
/** The files that threads of the store may load, beside the modules of tables and what lies in a folder `tables`. */
const ALLOWED: readonly RegExp[] = [
  /^packages\/store\/src\//,
  // Not all of it, which loads `node:http`.
  /^packages\/kit\/src\/(?:errors|files|json\/\w+)\.ts$/,
  /^packages\/[^/]+\/src\/(?:.+\/)?(?:tables|[\w-]*module)\.ts$/,
  /^packages\/[^/]+\/src\/(?:.+\/)?tables\/[^/]+\.ts$/,
  /^packages\/ledger\/src\/(?:canonical|plain-json|checkpoint|tree|ledger-error)\.ts$/,
  /^packages\/bridge\/src\/(?:memory|bridge-error|search\/(?:bm25|tokens|stem))\.ts$/,
  /^packages\/supervisor\/src\/(?:approvals\/approval|identity\/principal)\.ts$/,
];
/** The packages of others. A schema library takes longer to load than all tables together. */
const LIBRARIES = ["better-sqlite3", "canonicalize", "hash-wasm"];

/** What a module loads when it runs; imports of types alone are erased. */
function loadedBy({ path, text }: SourceFile): readonly string[] {
  const loaded: string[] = [];
  new Visitor({
    ImportDeclaration: (node) => node.importKind !== "type" && loaded.push(node.source.value),
    ExportNamedDeclaration: (node) =>
      node.source && node.exportKind !== "type" && loaded.push(node.source.value),
    ExportAllDeclaration: (node) => loaded.push(node.source.value),
  }).visit(parseSync(path, text).program);
  return loaded;
}

function resolved(from: string, specifier: string): string {
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  const [, name, part = ""] = /^@reins\/([\w-]+)(\/[\w-]+)?$/.exec(specifier) ?? [];
  if (name === undefined) return specifier;
  const { exports } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
  return join("packages", name, exports[`.${part}`]);
}

/** Everything that modules load, and the way to each. */
function reachedFrom(
  starts: readonly string[],
  sources: ReadonlyMap<string, SourceFile>,
): ReadonlyMap<string, string> {
  const seen = new Map(starts.map((path) => [path, path]));
  for (const [path, way] of seen) {
    const file = sources.get(path);
    if (!file) continue;
    for (const specifier of loadedBy(file)) {
      const next = resolved(path, specifier);
      if (!specifier.startsWith("node:") && !seen.has(next)) seen.set(next, `${way} > ${next}`);
    }
  }
  return seen;
}

async function sourcesByPath(): Promise<ReadonlyMap<string, SourceFile>> {
  const { files } = await readTree(root);
  return new Map(files.map((file) => [file.path, file]));
}

test("the threads of the store load tables, and no code that decides", async () => {
  const sources = await sourcesByPath();
  const files = [...sources.values()];
  const modules = files
    .filter(({ path }) => /^packages\/[^/]+\/src\//.test(path) && !path.endsWith(".test.ts"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/module: new URL\("([^"]+)", import\.meta\.url\)/g)].map(([, module = ""]) =>
        join(dirname(path), module),
      ),
    );
  expect(modules.length).toBeGreaterThan(8);
  const seen = reachedFrom([...THREADS, ...modules], sources);
  const refused = [...seen].filter(([path]) =>
    sources.has(path) ? !ALLOWED.some((pattern) => pattern.test(path)) : !LIBRARIES.includes(path),
  );
  expect(refused.map(([, way]) => way)).toEqual([]);
});

test.each([
  [
    "asks a running Reins",
    ["approvals/approvals", "mailbox", "memory", "node", "roster", "token", "tools", "user"],
    /^packages\/(?:cli|kit|sdk|api|ahp)\/src\//,
  ],
  ["reads a ledger", ["ledger/ledger"], /^packages\/(?:cli|kit|ahp|ledger|store|verify)\/src\//],
])("a command that %s loads nothing that runs one", async (_, commands, allowed) => {
  const starts = commands.map((name) => `packages/cli/src/commands/${name}.ts`);
  const sources = await sourcesByPath();
  expect(starts.filter((path) => !sources.has(path))).toEqual([]);
  const refused = [...reachedFrom(starts, sources)].filter(
    ([path]) => sources.has(path) && !allowed.test(path),
  );
  expect(refused.map(([, way]) => way)).toEqual([]);
});

test("only the connector loads the driver of PostgreSQL, so that a store in SQLite does not", async () => {
  const { files } = await readTree(root);
  const users = files.filter(
    (file) => /^packages\/[^/]+\/src\/.*(?<!\.test)\.ts$/.test(file.path) && loadedBy(file).includes("pg"),
  );
  expect(users.map(({ path }) => path)).toEqual([CONNECTOR]);
});
