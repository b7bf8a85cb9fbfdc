import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { graphTables, journalPlace } from "@reins/graph";
import type { ArtifactStore } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import type { Vault } from "@reins/supervisor";
import type { GraphRun } from "./graph-run.ts";
import { declaredRunTables, type StoredDeclaredRun, type StoredTurnRow } from "./tables.ts";

/** Where an output is stored, and the key without which it is not readable. */
export interface SealedArtifact {
  /** Of what is stored, by which the ledger links to it. */
  readonly digest: string;
  /** Of the output, in bytes. */
  readonly size: number;
  /** Base64url. */
  readonly key: string;
}

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** Each key is used once. */
const NONCE = Buffer.alloc(12);

/** Outputs in the artifact store, each under a key of its own: without its run, which is sealed, none is readable. */
export class SealedArtifacts {
  readonly #store: Pick<ArtifactStore, "put" | "get" | "erase">;

  constructor(store: Pick<ArtifactStore, "put" | "get" | "erase">) {
    this.#store = store;
  }

  /** Stores an output, once `announce` has settled, which is called with its digest. */
  async put(output: string, announce: (digest: string) => Promise<void>): Promise<SealedArtifact> {
    const key = randomBytes(KEY_BYTES);
    const cipher = createCipheriv(CIPHER, key, NONCE);
    const content = Buffer.from(output);
    const sealed = Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()]);
    const { digest } = await this.#store.put(sealed, announce);
    return { digest, size: content.length, key: key.toString("base64url") };
  }

  /** The output; `undefined` where it was erased. */
  async get({ digest, key }: SealedArtifact): Promise<string | undefined> {
    const sealed = await this.#store.get(digest);
    if (!sealed) return undefined;
    const end = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, Buffer.from(key, "base64url"), NONCE).setAuthTag(
      sealed.subarray(end),
    );
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]).toString("utf8");
  }

  async erase({ digest }: Pick<SealedArtifact, "digest">): Promise<void> {
    await this.#store.erase(digest);
  }

  /** Erases outputs that were announced and that their run does not refer to. None of its attempts may be under way. */
  async collect({ outputs, artifacts }: Pick<GraphRun, "outputs" | "artifacts">): Promise<void> {
    const kept = new Set(artifacts.map(({ digest }) => digest));
    for (const digest of outputs) {
      if (kept.has(digest)) continue;
      await this.erase({ digest });
      outputs.delete(digest);
    }
  }
}

/**
 * How runs and transcripts lie on the disk: sealed, because what is done is exact and what was said may hold secrets. Each
 * text is opened at its own place only.
 */
export const runPlace = (
  { tenant, run }: Pick<StoredDeclaredRun, "tenant" | "run">,
  part: "declared" | "state",
) => `declared_runs/${tenant}/${run}/${part}`;
export const turnPlace = ({ tenant, session }: Pick<StoredTurnRow, "tenant" | "session">) =>
  `declared_turns/${tenant}/${session}`;

const PAGE = 100;

/** Seals runs, transcripts and journals anew that were sealed with a former key; what cannot be opened stays as it is. */
export async function renewGraphSeals(store: Pick<Store, "query" | "commit">, vault: Vault): Promise<void> {
  const beginnings = vault.formerKeys.map((key) => `v1.${key}.`);
  if (beginnings.length === 0) return;
  const range = { beginnings, limit: PAGE };
  for (;;) {
    const { runs, turns } = await store.query(declaredRunTables, "beginningWith", range);
    const entries = await store.query(graphTables, "beginningWith", range);
    const changes = [
      ...runs.flatMap((row) => {
        const declared = vault.renew(runPlace(row, "declared"), row.declared);
        const state = vault.renew(runPlace(row, "state"), row.state);
        return declared === undefined || state === undefined
          ? []
          : [change(declaredRunTables, "renewRun", { ...row, declared, state })];
      }),
      ...turns.flatMap((row) => {
        const turn = vault.renew(turnPlace(row), row.turn);
        return turn === undefined ? [] : [change(declaredRunTables, "renewTurn", { seq: row.seq, turn })];
      }),
      ...entries.flatMap((row) => {
        const value = vault.renew(journalPlace(row), row.value);
        return value === undefined ? [] : [change(graphTables, "renew", { ...row, value })];
      }),
    ];
    // What cannot be opened would be found again for ever.
    if (changes.length === 0) return;
    await store.commit(changes);
  }
}
