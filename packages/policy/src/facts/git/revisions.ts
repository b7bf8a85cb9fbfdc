import { posix } from "node:path";
import type { FilePort } from "../files.ts";
import { ObjectStore, Unclear } from "./object-store.ts";
import { repositoryFolders } from "./repository.ts";

const REFS_LIMIT = 4 * 1_024 * 1_024;
const REF_LIMIT = 4_096;
const LOG_LIMIT = 1_024 * 1_024;
const MOST_REFS = 500;
const HASH = /^[0-9a-f]{40}$/;
/** Where git looks for a plain name, in this order. */
const REF_PLACES = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"] as const;

/** A commit: its tree and its parents. */
export interface Commit {
  readonly tree: string;
  readonly parents: readonly string[];
}

/** The names that a repository has for its objects. */
export class Revisions {
  readonly objects: ObjectStore;
  readonly #files: FilePort;
  readonly #own: string;
  readonly #common: string;
  readonly #config: string;
  #packed: Promise<ReadonlyMap<string, string>> | undefined;

  private constructor(files: FilePort, folders: { own: string; common: string }, config: string) {
    this.#files = files;
    this.#own = folders.own;
    this.#common = folders.common;
    this.#config = config;
    this.objects = new ObjectStore(files, posix.join(folders.common, "objects"));
  }

  static async around(files: FilePort, folder: string): Promise<Revisions | undefined> {
    const folders = await repositoryFolders(files, folder);
    if (folders === undefined) return undefined;
    const config = (await files.readStart(posix.join(folders.common, "config"), REF_LIMIT * 16)) ?? "";
    if (/^\s*(?:objectformat\s*=\s*sha256|refstorage\s*=)/im.test(config))
      throw new Unclear("the repository is of a kind that is not looked into");
    const revisions = new Revisions(files, folders, config);
    const isReplaced =
      (await files.lstat(posix.join(folders.common, "refs/replace"))) !== undefined ||
      [...(await revisions.#packedRefs()).keys()].some((name) => name.startsWith("refs/replace/"));
    if (isReplaced) throw new Unclear("the repository shows some objects in the place of others");
    return revisions;
  }

  /** Objects that are not there are got from elsewhere. */
  get isPartial(): boolean {
    return /^\s*(?:promisor|partialclonefilter|partialclone)\s*=/im.test(this.#config);
  }

  /** The object that a word stands for; `undefined` if git knows none of that name. */
  async resolve(word: string): Promise<string | undefined> {
    // From `@{` to the last brace, git takes what is no number for a time.
    const close = word.includes("@{") ? word.indexOf("}", word.indexOf("@{")) : -1;
    if (close !== -1 && close < word.length - 1 && word.endsWith("}"))
      throw new Unclear(`${word.slice(0, 80)} may stand for a time`);
    const [, base = "", steps = ""] = /^([^~^]*)([\s\S]*)$/.exec(word) ?? [];
    let hash = await this.#named(base === "" && steps === "" ? word : base || "HEAD");
    for (const [step, kind, count, inner] of steps.matchAll(/([~^])(\d*)(?:\{([^}]*)\})?/g)) {
      if (hash === undefined) return undefined;
      if (inner?.startsWith("/")) throw new Unclear(`${step} stands for a commit that is looked for`);
      hash = inner === undefined ? await this.#up(hash, kind, count) : await this.#peeled(hash, inner);
    }
    const rest = steps.replace(/([~^])(\d*)(?:\{([^}]*)\})?/g, "");
    if (rest !== "") return undefined;
    return hash;
  }

  async commit(hash: string): Promise<Commit | undefined> {
    const peeled = await this.#peeled(hash, "");
    const found = peeled === undefined ? undefined : await this.objects.read(peeled);
    if (found?.type !== "commit") return undefined;
    const text = Buffer.from(found.bytes).toString("latin1");
    const head = text.slice(0, text.indexOf("\n\n") + 1 || undefined);
    const tree = /^tree ([0-9a-f]{40})$/m.exec(head)?.[1];
    if (tree === undefined) throw new Unclear("a commit could not be read");
    return { tree, parents: [...head.matchAll(/^parent ([0-9a-f]{40})$/gm)].map(([, one = ""]) => one) };
  }

  /** What every branch, tag and the like stands for. */
  async all(): Promise<readonly string[]> {
    const names = new Set((await this.#packedRefs()).keys());
    const folders = ["refs"];
    for (const folder of folders) {
      const path = posix.join(this.#common, folder);
      if ((await this.#files.lstat(path)) === undefined) continue;
      const entries = await this.#files.list(path, MOST_REFS);
      if (entries === undefined) throw new Unclear("the repository has very many branches");
      for (const { name, isFolder } of entries)
        if (isFolder) folders.push(`${folder}/${name}`);
        else names.add(`${folder}/${name}`);
      if (folders.length + names.size > MOST_REFS) throw new Unclear("the repository has very many branches");
    }
    const hashes = await Promise.all(["HEAD", ...names].map((name) => this.#ref(name)));
    return [...new Set(hashes.filter((hash) => hash !== undefined))];
  }

  /** What a name stood for, the newest first. */
  async log(name: string): Promise<readonly string[]> {
    for (const place of REF_PLACES) {
      for (const folder of [this.#own, this.#common]) {
        const text = await this.#files.readStart(posix.join(folder, "logs", place + name), LOG_LIMIT);
        if (text === undefined) continue;
        if (text.length >= LOG_LIMIT) throw new Unclear("the log of a branch is very long");
        const lines = text.split("\n").filter((line) => line !== "");
        return lines.map((line) => line.split(" ")[1] ?? "").reverse();
      }
    }
    return [];
  }

  async #named(word: string): Promise<string | undefined> {
    if (word.startsWith(":")) throw new Unclear(`${word} stands for a commit that is looked for`);
    const [, name = "", at] = /^(.*?)@\{([^}]*)\}$/s.exec(word) ?? [undefined, word];
    if (at !== undefined) return this.#atTime(name === "" ? "HEAD" : name, at);
    if (word === "@") return this.#ref("HEAD");
    if (word === "" || /[\s*?[\\\0]|\.\.|\/$|^\/|^-/.test(word)) return undefined;
    for (const place of REF_PLACES) {
      if (place === "" && !/^(?:[A-Z_]+|refs\/.*)$/.test(word)) continue;
      const found = await this.#ref(place + word);
      if (found !== undefined) return found;
    }
    const remote = await this.#ref(`refs/remotes/${word}/HEAD`);
    if (remote !== undefined) return remote;
    // `v1.2-14-g2414721` is what `git describe` makes of a commit.
    const start = (/^(?:.*-g)?([0-9a-f]{4,40})$/i.exec(word)?.[1] ?? "").toLowerCase();
    if (start === "") return undefined;
    const found = await this.objects.named(start);
    if (found.length > 1) throw new Unclear(`${word} may stand for several objects`);
    if (found.length === 0 && this.isPartial) throw new Unclear(`${word} may be an object that is got first`);
    return found[0];
  }

  async #atTime(name: string, at: string): Promise<string | undefined> {
    if (/^\d+$/.test(at)) return (await this.log(name))[Number(at)];
    if (!/^(?:u|upstream|push)$/i.test(at))
      throw new Unclear(`@{${at}} stands for a commit that is looked for`);
    const head = (await this.#files.readStart(posix.join(this.#own, "HEAD"), REF_LIMIT)) ?? "";
    const branch = name === "HEAD" ? (/^ref: refs\/heads\/(.+)$/m.exec(head)?.[1] ?? "") : name;
    const section = this.#config.split(/^(?=\s*\[)/m).find((part) => part.includes(`[branch "${branch}"]`));
    const remote = /^\s*remote\s*=\s*(\S+)/m.exec(section ?? "")?.[1];
    const merge = /^\s*merge\s*=\s*refs\/heads\/(\S+)/m.exec(section ?? "")?.[1];
    if (remote === undefined || merge === undefined) return undefined;
    return this.#ref(remote === "." ? `refs/heads/${merge}` : `refs/remotes/${remote}/${merge}`);
  }

  async #ref(name: string, depth = 0): Promise<string | undefined> {
    if (depth > 5 || name.split("/").includes("..")) return undefined;
    for (const folder of new Set([this.#own, this.#common])) {
      const path = posix.join(folder, name);
      const kind = await this.#files.lstat(path);
      if (kind === undefined || kind === "folder") continue;
      const text = ((await this.#files.readStart(path, REF_LIMIT)) ?? "").trim();
      if (text.startsWith("ref: ")) return this.#ref(text.slice(5).trim(), depth + 1);
      const hash = text.split(/\s/)[0] ?? "";
      if (HASH.test(hash)) return hash;
    }
    return (await this.#packedRefs()).get(name);
  }

  #packedRefs(): Promise<ReadonlyMap<string, string>> {
    this.#packed ??= this.#files
      .readStart(posix.join(this.#common, "packed-refs"), REFS_LIMIT)
      .then((text) => {
        if ((text?.length ?? 0) >= REFS_LIMIT) throw new Unclear("the repository has very many branches");
        const lines = (text ?? "").split("\n").filter((line) => /^[0-9a-f]{40} /.test(line));
        return new Map(lines.map((line) => [line.slice(41).trim(), line.slice(0, 40)]));
      });
    return this.#packed;
  }

  async #up(hash: string, kind: string | undefined, count: string | undefined): Promise<string | undefined> {
    const times = count === undefined || count === "" ? 1 : Number(count);
    if (times === 0) return this.#peeled(hash, "commit");
    if (kind === "^") return (await this.commit(hash))?.parents[times - 1];
    let at: string | undefined = hash;
    for (let step = 0; step < times && at !== undefined; step += 1) at = (await this.commit(at))?.parents[0];
    return at;
  }

  async #peeled(hash: string, type: string): Promise<string | undefined> {
    let at = hash;
    for (let depth = 0; depth < 8; depth += 1) {
      const found = await this.objects.read(at);
      if (found === undefined || found.type === type) return at;
      const text = Buffer.from(found.bytes.subarray(0, 200)).toString("latin1");
      const next = /^(?:object|tree) ([0-9a-f]{40})$/m.exec(text)?.[1];
      const goesOn = found.type === "tag" || (found.type === "commit" && type === "tree");
      if (!goesOn || next === undefined) return at;
      at = next;
    }
    return at;
  }
}
