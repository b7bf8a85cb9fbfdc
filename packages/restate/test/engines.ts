import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JournalSeal, Orchestration } from "@reins/graph";
import { RestateEngine, type RestateSettings } from "../src/restate-engine.ts";
import { freePort, type RestateServer } from "./restate-server.ts";
import { SharedJournal } from "./shared-journal.ts";

/** Engines of one home, one after the other or at once, that die as processes do. */
export class Engines {
  readonly path: string;
  readonly port: number;
  readonly name: string;
  readonly #restate: RestateServer;
  readonly #folder: string;
  readonly #open = new Map<RestateEngine<unknown, unknown>, SharedJournal>();

  private constructor(restate: RestateServer, folder: string, port: number, name: string) {
    this.#restate = restate;
    this.#folder = folder;
    this.path = join(folder, "journal.db");
    this.port = port;
    this.name = name;
  }

  static #count = 0;

  static async make(restate: RestateServer): Promise<Engines> {
    const folder = await mkdtemp(join(tmpdir(), "restate-engines-"));
    Engines.#count += 1;
    return new Engines(restate, folder, await freePort(), `Test${process.pid}n${Engines.#count}`);
  }

  open(
    orchestrate: Orchestration<unknown, unknown>,
    more: Partial<RestateSettings> = {},
    isOwn: (run: string) => boolean = () => true,
  ): RestateEngine<unknown, unknown> {
    const journal = new SharedJournal(this.path);
    const { ingress, admin, identityKey } = this.#restate;
    const engine = new RestateEngine({
      settings: { ingress, admin, host: "127.0.0.1", port: this.port, identityKeys: [identityKey], ...more },
      ...{ name: this.name, orchestrate, journal, isOwn },
      seal: plainSeal,
      onError: (error) => void this.errors.push(error),
    });
    this.#open.set(engine, journal);
    return engine;
  }

  readonly errors: unknown[] = [];

  async kill(engine: RestateEngine<unknown, unknown>): Promise<void> {
    await engine.close();
    this.#open.get(engine)?.close();
    this.#open.delete(engine);
  }

  async close(): Promise<void> {
    for (const engine of this.#open.keys()) await this.kill(engine);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Binds a text to its place, and hides nothing. */
export const plainSeal: JournalSeal = {
  seal: (place, text) => `${place}|${text}`,
  open(place, sealed) {
    if (!sealed.startsWith(`${place}|`)) throw new Error(`not sealed for ${place}`);
    return sealed.slice(place.length + 1);
  },
};
