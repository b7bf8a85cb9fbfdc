import { existsSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { normalizePath, type Plugin } from "vite";
import { stateOf } from "../bootstrap/bundle-state.mjs";

/** Other ways to say it, which a bundle would change the meaning of. */
const UNKNOWN_PLACE = /import\.meta\.(?!url\b)\w+/;
/** What a module of ours says of where it lies: a module to be run elsewhere, by its name, or the place it lies itself. */
const PLACE = /new URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url\s*\)|import\.meta\.url/g;
const STACKS = normalizePath(fileURLToPath(new URL("./readable-stacks.ts", import.meta.url)));

/** The sources of a bundle, as they are read. */
export class Sources {
  /** Modules that threads and processes are started with, which need files of their own; by the names of those. */
  readonly started = new Map<string, string>();
  /** The state that each file was in, by its path from the root. */
  readonly states: Record<string, string> = {};
  readonly #root: string;
  readonly #folder: string;
  readonly #isPublished: boolean;

  /** `folder` is where the bundle will lie. One that is published has data beside it, and no sources. */
  constructor(root: string, folder: string, { isPublished = false } = {}) {
    this.#isPublished = isPublished;
    this.#root = normalizePath(root);
    this.#folder = normalizePath(folder);
  }

  /** Notes the state of a file. It comes before the reading, so that a change in between makes the bundle stale. */
  note(path: string): void {
    const state = stateOf(path);
    if (state !== undefined) this.states[posix.relative(this.#root, normalizePath(path))] = state;
  }

  /** What the bundler reads our sources through. `entries` are the modules that something is started with. */
  plugin(entries: readonly string[]): Plugin {
    return {
      name: "reins:sources",
      enforce: "pre",
      load: (id) => {
        if (this.#isOurs(id)) this.note(id);
        return null;
      },
      transform: (code, id) => {
        if (!this.#isOurs(id)) return null;
        const unknown = UNKNOWN_PLACE.exec(code)?.[0];
        if (unknown) throw new Error(`${id} uses ${unknown}; use import.meta.url, which a bundle knows.`);
        const placed = id === STACKS ? code : this.#placed(code, id);
        // On the first line, after a shebang: the map knows of no change, so no line may move.
        const begun = entries.includes(id)
          ? placed.replace(/^(#!.*\n)?/, `$1${this.#beginning(id)}`)
          : placed;
        return { code: begun, map: null };
      },
    };
  }

  #isOurs(id: string): boolean {
    return id.startsWith(`${this.#root}/`) && !id.includes("/node_modules/");
  }

  /** A bundle finds data files where its sources find them, and what is started beside itself. */
  #placed(code: string, id: string): string {
    return code.replace(PLACE, (text, module: string | undefined) => {
      if (module === undefined) return `${this.#address(id)}.href`;
      const path = posix.join(posix.dirname(id), module);
      if (!existsSync(path)) return text;
      const name = nameOf(posix.relative(`${this.#root}/packages`, path));
      this.started.set(name, path);
      return `new URL("./${name}.mjs", import.meta.url)`;
    });
  }

  #beginning(id: string): string {
    // What was started is asked for by name later, such as by the file of a service, and bundles come and go.
    const name = `process.argv[1] = process.getBuiltinModule("node:url").fileURLToPath(${this.#address(id)});`;
    return `import ${JSON.stringify(STACKS)}; ${id.endsWith("main.ts") && !this.#isPublished ? name : ""}`;
  }

  #address(id: string): string {
    return `new URL(${JSON.stringify(posix.relative(this.#folder, id))}, import.meta.url)`;
  }
}

function nameOf(path: string): string {
  return path.replace(/\.ts$/, "").replaceAll("/", "-");
}
