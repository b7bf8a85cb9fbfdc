import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type Clock, JsonError, parseJson, readRequestBody } from "@reins/kit";
import type { Caller } from "../access/authenticator.ts";
import type { GatewayLimits } from "../limits.ts";
import { HttpProblem, httpProblem } from "../problems.ts";

export interface BodyRequest {
  readonly raw: IncomingMessage;
  /** The sender; null on public routes. */
  readonly caller: Caller | null;
}

type BodyLimits = Pick<
  GatewayLimits,
  | "anonymousBodyBytes"
  | "anonymousBodies"
  | "anonymousBodiesPerAddress"
  | "anonymousBodyMs"
  | "arrivingBytesPerPrincipal"
>;

const BUSY = { headers: { "retry-after": "1" } };

/** Limits bodies in flight: of unauthenticated callers size, number and time; of each principal the total bytes. */
export class IncomingBodies {
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  /** Bodies in flight of unauthenticated callers, by address. */
  readonly #anonymous = new Map<string, number>();
  #anonymousCount = 0;
  /** Bytes in flight, by principal. */
  readonly #bytes = new Map<string, number>();

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Reads a JSON body. */
  read({ raw, caller }: BodyRequest, maxBytes: number): Promise<unknown> {
    return caller ? this.#readOf(caller.id, raw, maxBytes) : this.#readAnonymous(raw, maxBytes);
  }

  async #readOf(principal: string, raw: IncomingMessage, maxBytes: number): Promise<unknown> {
    const told = Number(raw.headers["content-length"] ?? maxBytes);
    const bytes = Math.min(Number.isFinite(told) ? told : maxBytes, maxBytes);
    const before = this.#bytes.get(principal) ?? 0;
    if (before > 0 && before + bytes > this.#limits.arrivingBytesPerPrincipal)
      throw new HttpProblem(
        "unavailable",
        "too many of your request bodies are in flight; wait for responses",
        BUSY,
      );
    this.#bytes.set(principal, before + bytes);
    try {
      return await readJson(raw, maxBytes, this.#clock);
    } finally {
      const left = (this.#bytes.get(principal) ?? 0) - bytes;
      if (left > 0) this.#bytes.set(principal, left);
      else this.#bytes.delete(principal);
    }
  }

  async #readAnonymous(raw: IncomingMessage, maxBytes: number): Promise<unknown> {
    const { anonymousBodies, anonymousBodiesPerAddress, anonymousBodyBytes, anonymousBodyMs } = this.#limits;
    const address = raw.socket.remoteAddress ?? "unknown";
    const before = this.#anonymous.get(address) ?? 0;
    if (before >= anonymousBodiesPerAddress || this.#anonymousCount >= anonymousBodies)
      throw new HttpProblem("too_many_requests", "too many unauthenticated requests are in flight", BUSY);
    this.#anonymous.set(address, before + 1);
    this.#anonymousCount += 1;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#clock.after(anonymousBodyMs, () => reject(httpProblem("timeout")));
    try {
      return await Promise.race([readJson(raw, Math.min(maxBytes, anonymousBodyBytes), this.#clock), late]);
    } finally {
      cancel();
      this.#anonymousCount -= 1;
      const left = (this.#anonymous.get(address) ?? 1) - 1;
      if (left > 0) this.#anonymous.set(address, left);
      else this.#anonymous.delete(address);
    }
  }
}

/** Media types of JSON bodies. */
export const JSON_TYPES = /^application\/([\w.-]+\+)?json(;|$)/i;

/** Reads a JSON body; undefined when it is empty. */
async function readJson(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<unknown> {
  const body = await readRequestBody(request, maxBytes, clock);
  if ("fault" in body) throw new HttpProblem("too_large", `a body has at most ${maxBytes} bytes`);
  if (body.bytes.length === 0) return undefined;
  if (!isUtf8(body.bytes)) throw new HttpProblem("invalid", "the body is not UTF-8");
  return parseBody(body.bytes.toString());
}

/** Parses the text of a body as strictly as AHP does. */
export function parseBody(text: string): unknown {
  try {
    const { value, duplicateKeys } = parseJson(text);
    if (!duplicateKeys) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const why = error.fault === "syntax" ? "" : `: ${error.message}`;
    throw new HttpProblem("invalid", `the body is not JSON that is accepted here${why}`, { cause: error });
  }
  throw new HttpProblem("invalid", "the body names a member twice");
}
