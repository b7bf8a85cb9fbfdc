import { errorMessage, exponentialBackoff, readLimited, sleep, systemClock } from "@reins/kit";

/** Where a Restate server is. */
export interface RestateAddress {
  /** The address of its ingress. */
  readonly ingress: string;
  /** The address of its admin API. */
  readonly admin: string;
  /** Sent to both as a bearer token, where a proxy in front of them wants one. */
  readonly token?: string | undefined;
}

/** What is wrong between Reins and Restate. Its messages have no token in them. */
export class RestateError extends Error {
  override readonly name = "RestateError";
  readonly code: "unavailable" | "refused";

  constructor(code: RestateError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A handler of an object, and the object's key. */
export interface HandlerTarget {
  readonly object: string;
  readonly key: string;
  readonly handler: string;
}

/** How long Restate has to answer one request, and in all. */
const ANSWER_MS = 10_000;
const PATIENCE_MS = 15_000;
const HEALTH_MS = 2_000;
const AGAIN = { firstMs: 50, mostMs: 1_000 };
const MOST_ANSWER = 32 << 20;

/** Speaks to a Restate server over HTTP. */
export class RestateApi {
  readonly #address: RestateAddress;

  constructor(address: RestateAddress) {
    this.#address = address;
  }

  /** Calls a handler once, however often the request has to be sent; returns its answer. */
  async call(
    target: HandlerTarget,
    body: unknown,
    { id, signal, isPatient }: { id: string; signal: AbortSignal; isPatient: boolean },
  ): Promise<unknown> {
    const { object, key, handler } = target;
    const url = `${trimmed(this.#address.ingress)}/${object}/${encodeURIComponent(key)}/${handler}`;
    const until = systemClock.now().getTime() + (isPatient ? PATIENCE_MS : 0);
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#request("POST", url, { body, headers: { "idempotency-key": id }, signal });
      } catch (error) {
        const isLate = systemClock.now().getTime() > until;
        if (signal.aborted || isLate || !(error instanceof RestateError) || error.code === "refused")
          throw error;
        await sleep(exponentialBackoff(AGAIN, failures), systemClock, signal);
      }
    }
  }

  /** Has Restate call the services that are served at an address. */
  async register(uri: string, signal: AbortSignal): Promise<void> {
    const url = `${trimmed(this.#address.admin)}/deployments`;
    await this.#request("POST", url, { body: { uri, force: true }, signal });
  }

  /** Throws if the server does not answer as it should. */
  async check(signal?: AbortSignal): Promise<void> {
    const { ingress, admin } = this.#address;
    for (const url of [`${trimmed(ingress)}/restate/health`, `${trimmed(admin)}/health`])
      await this.#request("GET", url, { signal, patience: HEALTH_MS });
  }

  async #request(
    method: "GET" | "POST",
    url: string,
    {
      body,
      headers = {},
      signal,
      patience = ANSWER_MS,
    }: { body?: unknown; headers?: object; signal?: AbortSignal | undefined; patience?: number },
  ): Promise<unknown> {
    const { token } = this.#address;
    const timeout = AbortSignal.timeout(patience);
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method,
        headers: {
          ...headers,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        redirect: "error",
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      text = (response.body && (await readLimited(response.body, MOST_ANSWER)))?.toString() ?? "";
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const why = timeout.aborted ? "it took too long" : errorMessage(cause);
      throw new RestateError("unavailable", `Restate at ${originOf(url)} does not answer: ${why}`, { cause });
    }
    if (response.ok) return text === "" ? undefined : JSON.parse(text);
    // A server that forgot the services gets them again; what it says else stays as it is.
    const code = response.status >= 500 || response.status === 404 ? "unavailable" : "refused";
    const said = text.slice(0, 300);
    throw new RestateError(
      code,
      `Restate at ${originOf(url)} answers with status ${response.status}: ${said}`,
    );
  }
}

function trimmed(address: string): string {
  return address.replace(/\/+$/, "");
}

/** The part of an address that may be shown. */
function originOf(url: string): string {
  return new URL(url).origin;
}
