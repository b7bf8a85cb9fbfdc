import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import {
  type AgentEntry,
  type AgentLaunch,
  CATALOGUE_FILES,
  droppedVariables,
  type InstalledAgent,
  launchOf,
} from "@reins/agents";
import { createFile } from "@reins/kit";
import { blake3Hex } from "@reins/ledger";
import { type Confinement, PrivateHome } from "@reins/runner";
import type { Harness } from "@reins/supervisor";
import { projectedSkills } from "../skills/injected-skills.ts";
import type { AgentHostOptions, StartOptions } from "./agent-host.ts";

/** What homes are prepared with. */
type AgentHomesOptions = Pick<
  AgentHostOptions,
  "harness" | "gateway" | "environment" | "userHome" | "modelFor" | "passFor" | "skills" | "onFault"
>;

/** Whose home it is, and whether its agent is confined. */
type Owned = Pick<StartOptions, "principal" | "confine">;

/** What names the homes of agents of a node: the same on all nodes that share the folder. Made by the first one. */
export async function nameOfHomes({ home }: Pick<Harness, "home">): Promise<string> {
  const path = join(home, "homes", ".id");
  await createFile(path, randomUUID());
  return readFile(path, "utf8");
}

/** The private homes of agents: one for each agent and principal, with what it is launched with. */
export class AgentHomes {
  readonly #options: AgentHomesOptions;

  constructor(options: AgentHomesOptions) {
    this.#options = options;
  }

  /** Prepares the home of an agent for its launch. */
  async prepare(
    entry: AgentEntry,
    { folder: install }: InstalledAgent,
    start: Owned,
    model = this.#options.modelFor?.(entry.id),
  ): Promise<{ readonly launch: AgentLaunch; readonly home: PrivateHome }> {
    const { environment, userHome = homedir() } = this.#options;
    const pass = this.#options.passFor?.(entry.id) ?? [];
    const folder = this.#folder(entry, start);
    const folders = { home: join(folder, "home"), temporary: join(folder, "tmp") };
    const platform = `${process.platform}-${process.arch}`;
    const { skills: library } = this.#options;
    const skills = library && entry.skills ? await projectedSkills(library, start.principal) : [];
    const launch = launchOf(entry, {
      folders,
      install,
      environment,
      node: process.execPath,
      platform,
      confined: start.confine !== undefined,
      pass,
      skills,
      ...(model && { model }),
    });
    const dropped = model ? [] : droppedVariables(entry, { environment, pass });
    if (dropped.length > 0)
      this.#options.onFault?.(
        entry.id,
        `${dropped.join(", ")} ${dropped.length > 1 ? "are" : "is"} set and not passed on to it; to do so, name what it needs under "pass" in agents.yaml`,
      );
    const credentials = launch.credentials.map(({ from, to }) => ({ from: join(userHome, from), to }));
    const files = Object.entries(launch.files).map(([path, text]) => ({ path, text }));
    return { launch, home: await PrivateHome.prepare({ folder, credentials, files, clears: launch.clears }) };
  }

  /** The confinement of an agent, or of commands, that use a home and run from a folder. */
  confinement(
    { roots, identities, network }: NonNullable<StartOptions["confine"]>,
    { home, temporary }: PrivateHome,
    folder: string,
  ): Confinement {
    const { harness, gateway } = this.#options;
    const shown = [folder, CATALOGUE_FILES, dirname(gateway.shimPath), dirname(process.execPath)];
    return {
      roots,
      identities,
      home,
      temporary,
      masked: [harness.home],
      binds: [
        ...shown.map((path) => ({ path, access: "read" as const })),
        { path: gateway.socketPath, access: "write" },
      ],
      network,
    };
  }

  /** Prepares a home without credentials and settings. */
  prepareEmpty(entry: AgentEntry, owned: Owned): Promise<PrivateHome> {
    return PrivateHome.prepare({ folder: this.#folder(entry, owned), credentials: [], files: [] });
  }

  /** The confinement of commands of a caller of the API, with a home of their own. */
  async forCommands(
    entry: AgentEntry,
    owned: Owned & { readonly confine: NonNullable<Owned["confine"]> },
  ): Promise<Confinement> {
    const home = await this.prepareEmpty(entry, owned);
    return this.confinement(owned.confine, home, dirname(process.execPath));
  }

  /** Where the home of an agent is. One agent at a time uses a home, and one that is confined is one of several. */
  #folder({ id }: AgentEntry, { principal, confine }: Owned): string {
    const place = confine ? `${id}-${blake3Hex(JSON.stringify(confine.roots)).slice(0, 16)}` : id;
    const { tenant, user } = principal;
    return join(this.#options.harness.home, "homes", tenant, user, principal.id, place);
  }
}
