import { posix } from "node:path";
import { nameGlob } from "../../glob.ts";
import type { FilePort } from "../files.ts";
import type { Finding, Findings, Target } from "../findings.ts";
import type { FactsContext } from "../gather.ts";
import { DEVICES } from "./places.ts";
import { givenPath, type PathResolver } from "./resolve.ts";

/** The absolute paths that a target stands for, not yet followed; or that they are not known, and what is. */
export type TargetPaths = { readonly paths: readonly string[] } | { readonly unknown: string };

/** Longer than any path that a kernel takes. */
const PATH_LIMIT = 8_192;

/** Makes a target absolute, and looks up what a glob matches. */
export async function targetPaths(
  target: Target,
  context: FactsContext,
  findings: Findings,
): Promise<TargetPaths> {
  const { text, base } = target;
  if (text === null) {
    findings.doubt("a path is only known at run time");
    return { unknown: "*" };
  }
  if (text.length > PATH_LIMIT) {
    findings.doubt("a path that is too long to be one");
    return { unknown: `${text.slice(0, 80)}…` };
  }
  if (target.isLiteral && DEVICES.has(posix.normalize(text))) return { paths: [] };
  if (base === undefined && !text.startsWith("/") && !(text.startsWith("~") && !target.isLiteral)) {
    findings.doubt("a path starts from a folder that is not known");
    return { unknown: text };
  }
  const bases = base === undefined || base.length === 0 ? ["/"] : base;
  const paths = new Set<string>();
  for (const folder of bases) {
    if (target.pattern !== undefined) {
      const found = await matches(
        target.pattern,
        text,
        folder,
        context,
        findings,
        target.mayBeOption === true,
      );
      if (!found) return { unknown: text };
      for (const path of found) paths.add(path);
      continue;
    }
    const given = target.isLiteral
      ? { absolute: text.startsWith("/") ? text : `${folder}/${text}` }
      : givenPath(text, folder, context.home);
    if ("doubt" in given) {
      findings.doubt(given.doubt);
      return { unknown: text };
    }
    paths.add(given.absolute);
  }
  return { paths: [...paths] };
}

async function matches(
  pattern: string,
  text: string,
  folder: string,
  context: FactsContext,
  findings: Findings,
  mayBeOption: boolean,
): Promise<readonly string[] | undefined> {
  const isAbsolute = text.startsWith("/");
  // The folder's own letters are no pattern.
  const escaped = folder.replace(/[*?[\]\\]/g, "\\$&");
  const found = await expandGlob(context.files, isAbsolute ? pattern : `${escaped}/${pattern}`).catch(
    () => undefined,
  );
  if (!found) {
    findings.doubt(`what ${text} matches could not be found out`);
    return undefined;
  }
  if (mayBeOption && found.some((path) => posix.basename(path).startsWith("-"))) {
    findings.hide(`${text} matches a file whose name is taken for an option`);
  }
  if (found.length === 0) return [isAbsolute ? text : `${folder}/${text}`];
  return found;
}

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

const NAMES_LIMIT = 2_000;
const MATCH_LIMIT = 500;

/**
 * The paths that a shell's glob matches; `undefined` when there are too many, or a folder cannot be read. Like
 * a shell, it does not match names that start with a dot unless the pattern says so.
 * @param pattern absolute, its literal characters escaped
 */
async function expandGlob(files: FilePort, pattern: string): Promise<readonly string[] | undefined> {
  let found: readonly string[] | undefined = ["/"];
  for (const part of pattern.split("/").filter((one) => one !== "" && one !== ".")) {
    if (found === undefined || found.length > MATCH_LIMIT) return undefined;
    if (part === "**") found = await foldersBelow(files, found);
    else if (/[*?[]/.test(part.replace(/\\./g, ""))) found = await matchesIn(files, found, part);
    else found = found.map((folder) => below(folder, part.replace(/\\(.)/g, "$1")));
  }
  return found;
}

async function matchesIn(
  files: FilePort,
  folders: readonly string[],
  part: string,
): Promise<readonly string[] | undefined> {
  const matcher = nameGlob(part, { ofAnyShell: true });
  if (!matcher) return undefined;
  const matches: string[] = [];
  for (const folder of folders) {
    const real = await files.realpath(folder);
    if (real === undefined || (await files.lstat(real)) !== "folder") continue;
    const entries = await files.list(folder, NAMES_LIMIT);
    if (entries === undefined) return undefined;
    for (const { name } of entries) if (matcher(name)) matches.push(below(folder, name));
  }
  return matches;
}

/** Some shells take `**` for all folders below, hidden ones and links left out; to others it is one folder. */
async function foldersBelow(
  files: FilePort,
  folders: readonly string[],
): Promise<readonly string[] | undefined> {
  const all = [...folders];
  let names = 0;
  // The list grows while it is gone through.
  for (const folder of all) {
    if ((await files.lstat(folder)) !== "folder") continue;
    const entries = await files.list(folder, NAMES_LIMIT);
    names += entries?.length ?? NAMES_LIMIT;
    if (entries === undefined || names > NAMES_LIMIT) return undefined;
    for (const { name, isFolder } of entries)
      if (isFolder && !name.startsWith(".")) all.push(below(folder, name));
  }
  return all;
}

function below(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}
