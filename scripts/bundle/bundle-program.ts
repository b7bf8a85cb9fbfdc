import { basename, join } from "node:path";
import { build, normalizePath, type Plugin } from "vite";
import { builtins } from "./builtins.ts";
import type { Sources } from "./sources.ts";

/** These find files of their own by where they lie. */
export const LEFT_OUT = ["better-sqlite3", "web-tree-sitter"];
/**
 * What a start loads, in this order, each with all that it imports and that is in no file before it: every command, one
 * with a schema, one that asks a running Reins, one that reads a ledger, and one that opens a home. Left to itself the
 * bundler shares out what several commands import among a hundred files.
 */
const LOADED_TOGETHER = [
  ["program.ts"],
  ["files.ts"],
  ["client/operation-command.ts", "serving/stop.ts", "../../api/src/"],
  ["ledger/"],
  ["commands/up/up.ts"],
];

/** What is bundled, and where to. */
interface BundleOptions {
  readonly root: string;
  /** Where the files go. */
  readonly folder: string;
  readonly sources: Sources;
  /** The syntax that the program may use; all that Node has by default. */
  readonly target?: string;
  /** Plugins that see the sources first. */
  readonly plugins?: readonly Plugin[];
}

/** Makes one program of a few files; returns the modules that are in it. */
export async function bundleProgram(options: BundleOptions): Promise<ReadonlySet<string>> {
  const { root, sources } = options;
  const program = await bundle(options, { main: normalizePath(join(root, "packages/cli/src/main.ts")) });
  // Apart from the program, so that a thread loads nothing of it.
  const threads = await bundle(options, Object.fromEntries(sources.started));
  return new Set([...program, ...threads]);
}

async function bundle(
  { root, folder, sources, target = "esnext", plugins = [] }: BundleOptions,
  input: Record<string, string>,
): Promise<readonly string[]> {
  const built = await build({
    configFile: false,
    root,
    logLevel: "warn",
    publicDir: false,
    plugins: [...plugins, builtins(), sources.plugin(Object.values(input))],
    ssr: { noExternal: true, external: LEFT_OUT },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      sourcemap: true,
      target,
      rolldownOptions: {
        input,
        output: {
          entryFileNames: "[name].mjs",
          chunkFileNames: "[name]-[hash].mjs",
          codeSplitting: { groups: LOADED_TOGETHER.map((paths, index) => fileOf(root, paths, index)) },
          comments: false,
          sourcemapExcludeSources: true,
        },
      },
    },
  });
  const outputs = [built].flat().flatMap((one) => ("output" in one ? one.output : []));
  return outputs.flatMap((one) => (one.type === "chunk" ? one.moduleIds : []));
}

function fileOf(root: string, paths: readonly string[], index: number) {
  const modules = paths.map((path) => normalizePath(join(root, "packages/cli/src", path)));
  return {
    name: basename(paths[0] ?? "", ".ts"),
    test: (id: string) => modules.some((module) => id.startsWith(module)),
    priority: LOADED_TOGETHER.length - index,
  };
}
