import type { Plugin } from "vite";

/** An import of something of Node, on a line of its own in what the bundler writes. */
const IMPORT = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+)|\{ (.*) \})? from "(node:[\w/]+)";$/gm;

/**
 * Has a bundle take from a module of Node only what it uses. An import reads every export of it, also those that Node
 * loads when they are first read: one of `node:http` is a whole HTTP client.
 */
export function builtins(): Plugin {
  return {
    name: "reins:builtins",
    // Nothing moves to another line, so the map stays right.
    renderChunk: (code) => ({ code: withoutImports(code), map: null }),
  };
}

/** The code of a file, without imports of modules of Node. */
export function withoutImports(code: string): string {
  return code.replace(IMPORT, (_, main?: string, all?: string, some?: string, module?: string) => {
    const found = `process.getBuiltinModule("${module}")`;
    const members = some?.replaceAll(" as ", ": ");
    const names = [main, all, members && `{ ${members} }`].filter((name) => name !== undefined);
    return names.map((name) => `const ${name} = ${found};`).join(" ");
  });
}
