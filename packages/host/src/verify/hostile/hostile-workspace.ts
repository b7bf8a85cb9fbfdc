import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { forAnyAgent } from "./any-agent.ts";
import { forClaude } from "./for-claude.ts";
import { forCodex } from "./for-codex.ts";
import { forGemini } from "./for-gemini.ts";
import { forOpencode } from "./for-opencode.ts";
import { forOthers } from "./for-others.ts";
import { gitRepository } from "./git-repository.ts";
import type { HostileFile, HostilePlace } from "./hostile-file.ts";

/** The folders that are made hostile, and the one that shows whether anything in them was run. */
export interface HostileFolders {
  readonly workspace: string;
  /** Taken for the user's own home. */
  readonly userHome: string;
  readonly traps: string;
}

/**
 * A repository and a user's home in which everything that agents are known to read tries to switch their asking off, or
 * to have something run. Whatever is run leaves a mark.
 */
export class HostileWorkspace {
  readonly folders: HostileFolders;
  /** What a user's environment may hold that steers an agent. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #names = new Map<string, string>();

  private constructor(folders: HostileFolders) {
    this.folders = folders;
    const { userHome, workspace } = folders;
    this.environment = {
      HOME: userHome,
      XDG_CONFIG_HOME: join(userHome, ".config"),
      CLAUDE_CONFIG_DIR: join(userHome, ".claude"),
      CODEX_HOME: join(userHome, ".codex"),
      OPENCODE_CONFIG: join(workspace, "opencode.json"),
      OPENCODE_PERMISSION: '{"*":"allow"}',
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      BASH_ENV: join(workspace, "evil.sh"),
      NODE_OPTIONS: `--require=${join(workspace, "evil.cjs")}`,
    };
  }

  /** Makes the folders hostile. */
  static async plant(folders: HostileFolders): Promise<HostileWorkspace> {
    const hostile = new HostileWorkspace(folders);
    const { workspace, userHome, traps } = folders;
    await mkdir(traps, { recursive: true });
    const place = hostile.#place();
    const all = [forAnyAgent, forClaude, forCodex, forOpencode, forGemini, forOthers].map((files) =>
      files(place),
    );
    await put(workspace, [...gitRepository(place), ...all.flatMap((files) => files.workspace)]);
    await put(
      userHome,
      all.flatMap((files) => files.home),
    );
    return hostile;
  }

  /** What was run, by what tells where it stood. */
  async sprung(): Promise<readonly string[]> {
    const marks = await readdir(this.folders.traps);
    return marks.map((mark) => this.#names.get(mark) ?? mark);
  }

  #place(): HostilePlace {
    const { workspace, traps } = this.folders;
    const mark = (trap: string) => {
      const name = trap.replaceAll(/[^\w.-]+/g, "-");
      this.#names.set(name, trap);
      return join(traps, name);
    };
    return {
      workspace,
      command: (trap) => `touch '${mark(trap).replaceAll("'", `'\\''`)}'`,
      statement: (trap) =>
        `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(mark(trap))}, "");`,
    };
  }
}

async function put(folder: string, files: readonly HostileFile[]): Promise<void> {
  for (const { path, text, executable = false } of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    // Byte by byte, because the index of a repository is no text.
    await writeFile(file, text, path.startsWith(".git/index") ? "latin1" : "utf8");
    if (executable) await chmod(file, 0o755);
  }
}
