import { posix } from "node:path";
import type { Finding, Findings, Target } from "./findings.ts";
import type { FactsContext } from "./gather.ts";
import type { PathResolver } from "./path/resolve.ts";
import { targetPaths } from "./path/target-paths.ts";

type WriteFinding = Finding & { kind: "write" };

/** A path that is touched, not yet followed, and whether what lies below it is, too. */
export interface Touched {
  readonly path: string;
  readonly deep: boolean;
}

/** Something that is copied or moved. */
interface Source {
  /** The path as it was given; `undefined` when it is not known. */
  readonly path: string | undefined;
  readonly isFile: boolean;
}

/** Finds out where things arrive that are copied or moved, and whether there may be folders among them. */
export class CopyDestinations {
  readonly #context: FactsContext;
  readonly #findings: Findings;
  readonly #resolver: PathResolver;

  constructor(context: FactsContext, findings: Findings, resolver: PathResolver) {
    this.#context = context;
    this.#findings = findings;
    this.#resolver = resolver;
  }

  /** What is touched: in a folder, under the names of what arrives there; otherwise the paths themselves. */
  async at(paths: readonly string[], { from, deep }: WriteFinding): Promise<readonly Touched[]> {
    if (from === undefined) return paths.map((path) => ({ path, deep }));
    const sources = (await Promise.all(from.map((source) => this.#sources(source)))).flat();
    const all = paths.map(async (path) => {
      const mayHoldFolders = deep && sources.some(({ isFile }) => !isFile);
      if (!(await this.#isFolder(path))) return [{ path, deep: mayHoldFolders }];
      return sources.map((source) => arrived(path, source, deep));
    });
    return (await Promise.all(all)).flat();
  }

  async #isFolder(path: string): Promise<boolean> {
    return /(?:^|\/)\.{0,2}$/.test(path) || (await this.#kindOf(path)) === "folder";
  }

  async #sources(target: Target): Promise<readonly Source[]> {
    const known = await targetPaths(target, this.#context, this.#findings);
    if ("unknown" in known) return [{ path: undefined, isFile: false }];
    return Promise.all(
      known.paths.map(async (path) => ({ path, isFile: (await this.#kindOf(path)) === "file" })),
    );
  }

  async #kindOf(path: string) {
    const { path: real } = await this.#resolver.resolve(path);
    return this.#context.files.lstat(real).catch(() => undefined);
  }
}

/** With a slash behind it, some programs take a folder for what is in it. */
function arrived(folder: string, { path, isFile }: Source, deep: boolean): Touched {
  const name = path === undefined || path.endsWith("/") ? "." : posix.basename(path);
  const isContent = name === "." || name === "..";
  return isContent
    ? { path: folder, deep: deep || path === undefined }
    : { path: `${folder}/${name}`, deep: deep && !isFile };
}
