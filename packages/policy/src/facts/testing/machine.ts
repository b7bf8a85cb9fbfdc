import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { FactsContext } from "../facts-context.ts";
import { realFiles } from "../files.ts";
import { loadToolTables } from "../tool/tool-table.ts";

interface Layout {
  readonly folders: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, string>>;
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
    const file = new URL("../../../corpus/workspace.json", import.meta.url);
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

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
