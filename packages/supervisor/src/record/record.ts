import { createHmac, createSecretKey, hash, type KeyObject, randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Draft, exactJson } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import type { OpenCall } from "../decision/supervisor.ts";
import { SupervisorError } from "../errors.ts";
import { readIfThere, writeIfDifferent, writeIfMissing } from "../policies/policy-files.ts";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";

/** The mark of an action that no verdict came before. */
export const UNGATED = "ungated";

/** The entry for the begin or end of a session, with what was under way when it ended. */
export function lifecycleDraft(
  subject: Subject,
  change: string,
  unfinished: readonly OpenCall[] = [],
): Draft {
  return {
    quality: "session_lifecycle",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [change],
    payload: {
      change,
      subject: { ...subject },
      ...(unfinished.length > 0 && {
        unfinished: unfinished.map(({ entry, tool }) => ({ verdict: entry, tool, outcome: "unknown" })),
      }),
    },
  };
}

/** The entry for what came of an action; without an allowed call it is marked as ungated. */
export function resultDraft(
  subject: Subject,
  { tool, outcome }: { readonly tool?: string | undefined; readonly outcome: string },
  call: OpenCall | undefined,
): Draft {
  const name = tool ?? call?.tool ?? "unknown";
  return {
    quality: "tool_result",
    actor: subject.agent,
    target: name,
    entity_id: sessionKey(subject),
    tags: [outcome, ...(call ? [] : [UNGATED])],
    payload: {
      tool: name,
      outcome,
      verdict: call?.entry ?? null,
      enforcement: call ? subject.enforcement : "observed",
    },
  };
}

/** The key of a session's chain in the ledger. Two tenants may use the same names, so theirs is part of it. */
export function sessionKey(subject: Pick<Subject, "agent" | "tenant" | "session" | "session_key">): string {
  const { tenant, agent, session, session_key } = subject;
  // A colon in an agent's own word for itself must not make its key that of another.
  const key = session_key ?? `${agent.replaceAll(":", "%3A")}:ahp:${session}`;
  return `${tenantPrefix(tenant) ?? ""}${key}`;
}

/** How the keys of all sessions of a tenant begin; those of the default one have nothing in common. */
export function tenantPrefix(tenant: string): string | undefined {
  return tenant === "default" ? undefined : `${tenant}/`;
}

/** A draft as it is recorded: whatever an agent or a person said in it without its secrets. */
export function withoutSecrets(draft: Draft, redact: Redact = redactKnown): Draft {
  const target = String(redact(draft.target));
  const payload = redact(draft.payload);
  if (!draft.tags) return { ...draft, target, payload };
  return { ...draft, target, payload, tags: draft.tags.map((tag) => String(redact(tag))) };
}

const KEY_BYTES = 32;

/** The newest key of a file, and those that it took the place of. */
export type SecretKeys = readonly [newest: Buffer, ...former: Buffer[]];

/** The keys in a file of a home, among the others that only its owner may reach; the first is made on first use. */
export async function secretKeys(folder: string, file: string): Promise<SecretKeys> {
  const path = join(folder, file);
  await writeIfMissing(path, () => keyFileText([newKey()]));
  const text = (await readIfThere(path))?.toString("utf8").trimEnd() ?? "";
  const [newest, ...former] = text.split("\n").map((line) => Buffer.from(line, "hex"));
  if (newest && [newest, ...former].every(({ length }) => length === KEY_BYTES)) return [newest, ...former];
  throw new SupervisorError("invalid", `the key file ${path} is damaged; bring it back from a backup`);
}

/** Puts a new key before those that are there. */
export async function addSecretKey(folder: string, file: string): Promise<SecretKeys> {
  const keys: SecretKeys = [newKey(), ...(await secretKeys(folder, file))];
  await writeIfDifferent(join(folder, file), keyFileText(keys));
  return keys;
}

/** Forgets every key but one. */
export async function keepSecretKey(folder: string, file: string, key: Buffer): Promise<void> {
  await writeIfDifferent(join(folder, file), keyFileText([key]));
}

function newKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

function keyFileText(keys: readonly Buffer[]): string {
  return keys.map((key) => `${key.toString("hex")}\n`).join("");
}

/** What SHA-256 takes in at a time, and what comes out, in bytes. */
const BLOCK = 64;
const DIGEST = 32;
/** Room for the texts that are met again and again; a UTF-16 unit takes at most three bytes. */
const ROOM = 8 * 1_024;
/** What RFC 2104 mixes the key with. */
const [INNER, OUTER] = [0x36, 0x5c];

/**
 * HMAC-SHA-256 of texts with one key of at most 64 bytes. For texts of usual length it is put together from two hashes
 * made in one step: this runs for every verdict, and `createHmac` makes several objects each time, which on a busy
 * thread takes many times as long.
 */
export class KeyedHash {
  readonly #key: KeyObject;
  /** The key as each of the two hashes begins with it, and room for what follows. */
  readonly #inner = Buffer.alloc(BLOCK + ROOM);
  readonly #outer = Buffer.alloc(BLOCK + DIGEST);

  constructor(key: Buffer) {
    if (key.length > BLOCK) throw new RangeError(`a key of ${key.length} bytes is longer than a block`);
    this.#key = createSecretKey(key);
    for (let index = 0; index < BLOCK; index += 1) {
      this.#inner[index] = (key[index] ?? 0) ^ INNER;
      this.#outer[index] = (key[index] ?? 0) ^ OUTER;
    }
  }

  /** The hash of a text, in hexadecimal digits. */
  of(text: string): string {
    if (text.length * 3 > ROOM) return createHmac("sha256", this.#key).update(text).digest("hex");
    const end = BLOCK + this.#inner.write(text, BLOCK);
    this.#outer.write(hash("sha256", this.#inner.subarray(0, end), "binary"), BLOCK, "binary");
    return hash("sha256", this.#outer, "hex");
  }
}

/**
 * Commits to what an agent sent without recording it: the holder of the key and the text can show that they belong
 * together, and the text cannot be guessed from the record.
 */
export class Commitment {
  readonly #hash: KeyedHash;

  private constructor(key: Buffer) {
    this.#hash = new KeyedHash(key);
  }

  /** The commitments of a home, whose key lies among its others; made on first use. */
  static async open(keys: string): Promise<Commitment> {
    const [key] = await secretKeys(keys, "commitment.key");
    return new Commitment(key);
  }

  /** The commitment to a JSON value. */
  to(value: unknown): string {
    return `hmac-sha256:${this.#hash.of(canonicalText(value))}`;
  }

  /** 64 hexadecimal digits by which a text is found again for one purpose, and from which it cannot be guessed. */
  digest(purpose: string, text: string): string {
    // No JSON begins like that, so no digest is a commitment.
    return this.#hash.of(`${purpose}\0${text}`);
  }
}

/** The canonical form; of what has none, such as half of a surrogate pair, the form that JavaScript gives it. */
function canonicalText(value: unknown): string {
  try {
    return exactJson(value);
  } catch {
    return JSON.stringify(value) ?? "null";
  }
}
