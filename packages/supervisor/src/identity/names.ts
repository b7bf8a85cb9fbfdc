import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { faultSentences } from "@reins/kit";
import { z } from "zod";
import { SupervisorError } from "../errors.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+:-]{0,127}$/;
const SCOPE = /^(?:\*|[A-Za-z0-9][A-Za-z0-9._@+:/-]{0,127})$/;
const MOST_NAMES = 200;

/** Control characters, those that change the direction of text, and line ends: nothing a person should have to read. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

const RESERVED = "is a name that every object has, such as __proto__ or constructor; choose another";

/** A name of a user, tenant or role. Plain ASCII, so that no two of them look alike. */
export const Name = z
  .string()
  .regex(NAME, "1 to 128 letters, digits or . _ @ + : -, beginning with a letter or digit")
  .refine(isFree, RESERVED);

/** A name of an agent, as the roster has it. */
export const AgentName = printableName(128);

/** The name of a session, as its creator chose it. */
export const SessionName = printableName(256);

function printableName(longest: number) {
  const name = z.string().min(1).max(longest);
  return name.refine(isPrintable, "holds characters that cannot be shown").refine(isFree, RESERVED);
}

/** What a person or task is called: one line of text. */
export const Line = z.string().trim().min(1).max(200).refine(isPrintable, "is not one line of plain text");

/** Names of roles, each once and in order. */
export const Roles = z.array(Name).max(MOST_NAMES).readonly().transform(inOrder);

/** Scopes, each once and in order. `*` stands alone for all; it is no pattern. */
export const Scopes = z
  .array(z.string().regex(SCOPE, "1 to 128 letters, digits or . _ @ + : / -, or * alone for all"))
  .max(MOST_NAMES)
  .readonly()
  .transform((scopes) => (scopes.includes("*") ? ["*"] : inOrder(scopes)));

/** Agents of the roster, each once and in order; `*` is any. */
export const Agents = z
  .array(AgentName)
  .max(MOST_NAMES)
  .readonly()
  .transform((agents) => (agents.includes("*") ? ["*"] : inOrder(agents)));

/** A text with nothing in it that cannot be shown, cut to a length. */
export function printable(text: string, longest: number): string {
  return text.slice(0, longest).toWellFormed().replace(UNPRINTABLE, "\u{fffd}");
}

/** Parses input; what does not fit is `invalid`. */
export function read<Output>(schema: z.ZodType<Output>, given: unknown): Output {
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  throw new SupervisorError("invalid", faultSentences(checked.error, "it"), { cause: checked.error });
}

/** Whether no object inherits a member of that name: programs that read stored names may use them as keys. */
function isFree(text: string): boolean {
  return !(text in Object.prototype);
}

function isPrintable(text: string): boolean {
  return text.isWellFormed() && text.search(UNPRINTABLE) === -1;
}

function inOrder(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}

const SECRET_BYTES = 32;
const SECRET = /^reins_[A-Za-z0-9_-]{43}$/;

/** Returns cryptographically random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

/** Random bytes as text that fits into a name. */
export function randomName(randomBytes: RandomBytes, size: number): string {
  return Buffer.from(randomBytes(size)).toString("base64url");
}

/** A new secret: 256 bits, in a form that scanners for leaked secrets recognise. */
export function newSecret(randomBytes: RandomBytes): string {
  return `reins_${randomName(randomBytes, SECRET_BYTES)}`;
}

/** Whether a text has the form of a secret; any other text is not hashed. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Hashes secrets, which are not stored themselves: HMAC-SHA-256 under a key of this database, by purpose. */
export class SecretHash {
  readonly #key: KeyObject;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  /** The hash of a token's secret. */
  ofToken(secret: string): string {
    return this.#of("token", secret);
  }

  /** The hash of a child session's token. */
  ofSession(secret: string): string {
    return this.#of("session", secret);
  }

  /** Commits to a task without revealing it. */
  ofTask(task: string): string {
    return this.#of("task", task);
  }

  #of(purpose: "token" | "session" | "task", text: string): string {
    return createHmac("sha256", this.#key).update(`${purpose}\n${text}`).digest("hex");
  }
}

/** Compares two hashes in constant time. */
export function isSameHash(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
