import { lstat, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Action } from "../src/action.ts";
import { realFiles } from "../src/facts/files.ts";
import { type FactsContext, gatherFacts } from "../src/facts/gather.ts";
import { loadToolTables } from "../src/facts/tool/tool-call.ts";

interface Layout {
  readonly folders: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
}

/** Writes an index of git that has the files of a work tree as they are. */
async function trackFiles(root: string, paths: readonly string[]): Promise<void> {
  const header = Buffer.alloc(12);
  header.write("DIRC");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(paths.length, 8);
  const entries = await Promise.all(
    [...paths].sort().map(async (path) => {
      const { mtimeNs, ctimeNs, size } = await lstat(join(root, path), { bigint: true });
      const name = Buffer.from(path);
      const entry = Buffer.alloc(Math.ceil((62 + name.length + 1) / 8) * 8);
      entry.writeUInt32BE(Number(ctimeNs / 1_000_000_000n), 0);
      entry.writeUInt32BE(Number(ctimeNs % 1_000_000_000n), 4);
      entry.writeUInt32BE(Number(mtimeNs / 1_000_000_000n), 8);
      entry.writeUInt32BE(Number(mtimeNs % 1_000_000_000n), 12);
      entry.writeUInt32BE(0o100644, 24);
      entry.writeUInt32BE(Number(size), 36);
      entry.writeUInt16BE(Math.min(name.length, 0xfff), 60);
      name.copy(entry, 62);
      return entry;
    }),
  );
  await writeFile(join(root, ".git/index"), Buffer.concat([header, ...entries, Buffer.alloc(20)]));
}

/** A workspace, a home and a harness's folder on the real file system, as `corpus/workspace.json` lays them out. */
export class Machine implements AsyncDisposable {
  readonly folder: string;
  readonly #tables = loadToolTables();
  readonly #contexts = new Map<string, FactsContext>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async lay(): Promise<Machine> {
    const machine = new Machine(await realpath(await mkdtemp(join(tmpdir(), "reins-facts-"))));
    const file = new URL("../corpus/workspace.json", import.meta.url);
    const layout: Layout = JSON.parse(await readFile(file, "utf8"));
    const place = async (path: string): Promise<string> => {
      const full = join(machine.folder, path);
      await mkdir(dirname(full), { recursive: true });
      return full;
    };
    for (const path of layout.folders) await mkdir(await place(path), { recursive: true });
    for (const [path, text] of Object.entries(layout.files)) await writeFile(await place(path), text);
    for (const [path, target] of Object.entries(layout.links))
      await symlink(machine.fill(target), await place(path));
    const tracked = Object.keys(layout.files).filter((path) =>
      /^workspace\/(?!.*(?:\.git\/|\.env$)|bare|tree)/.test(path),
    );
    await trackFiles(
      machine.workspace,
      tracked.map((path) => path.slice("workspace/".length)),
    );
    return machine;
  }

  get workspace(): string {
    return join(this.folder, "workspace");
  }

  /** Puts this machine's paths into a text. */
  fill(text: string): string {
    return text
      .replaceAll("{{workspace}}", this.workspace)
      .replaceAll("{{home}}", join(this.folder, "home"))
      .replaceAll("{{harness}}", join(this.folder, "reins"));
  }

  context(agent: string): FactsContext {
    const known = this.#contexts.get(agent);
    if (known) return known;
    const context: FactsContext = {
      roots: [this.workspace],
      cwd: this.workspace,
      home: join(this.folder, "home"),
      harness: join(this.folder, "reins"),
      environment: { HOME: join(this.folder, "home"), LANG: "C.UTF-8", USER: "dev" },
      agent,
      tables: this.#tables,
      files: realFiles,
    };
    this.#contexts.set(agent, context);
    return context;
  }

  /** The facts of a call of Claude Code's `Bash`. */
  facts(command: string): Promise<Action> {
    return this.call({ tool_name: "Bash", arguments: { command: this.fill(command) } });
  }

  /** The facts of a payload. */
  call(payload: unknown, agent = "claude-code"): Promise<Action> {
    const event = { event_type: "pre_action", session_id: "s", agent_id: agent, depth: 0, payload } as const;
    return gatherFacts(event, this.context(agent));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
