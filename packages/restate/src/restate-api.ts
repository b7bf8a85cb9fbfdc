import { errorMessage, exponentialBackoff, readLimited, sleep, systemClock } from "@reins/kit";
import { z } from "zod";

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
  /** What Restate answered with, if it did. */
  readonly status: number | undefined;

  constructor(
    code: RestateError["code"],
    message: string,
    { status, ...options }: ErrorOptions & { readonly status?: number } = {},
  ) {
    super(message, options);
    this.code = code;
    this.status = status;
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

const Deployment = z.object({ id: z.string(), uri: z.string().default("") });
type Deployment = z.infer<typeof Deployment>;
const ServiceMetadata = z.object({ deployment_id: z.string() });
const Invocations = z.object({ rows: z.array(z.object({ id: z.string(), status: z.string() })) });

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
    await this.#request("POST", this.#adminUrl("deployments"), { body: { uri, force: true }, signal });
  }

  /** Where Restate calls a service; `undefined` where it does not know it. */
  async deploymentOf(service: string, signal: AbortSignal): Promise<Deployment | undefined> {
    try {
      const known = await this.#request("GET", this.#adminUrl("services", service), { signal });
      const { deployment_id } = ServiceMetadata.parse(known);
      return Deployment.parse(
        await this.#request("GET", this.#adminUrl("deployments", deployment_id), { signal }),
      );
    } catch (error) {
      if (error instanceof RestateError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Has Restate call what it called at one address at another: also what it has begun. */
  async move({ id }: Deployment, uri: string, signal: AbortSignal): Promise<void> {
    const body = { uri, overwrite: true };
    await this.#request("PATCH", this.#adminUrl("deployments", id), { body, signal });
  }

  /**
   * Has invocations of services go on that wait for their next attempt, or for an operator after too many. Those that
   * a process has begun that may not answer any more are ended where `isTaken`.
   */
  async revive(
    services: readonly string[],
    { isTaken, signal }: { readonly isTaken: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const statuses = isTaken ? "'paused', 'backing-off', 'running'" : "'paused'";
    const names = services.map((service) => `'${service}'`).join(", ");
    const query = `SELECT id, status FROM sys_invocation WHERE target_service_name IN (${names}) AND status IN (${statuses})`;
    const found = await this.#request("POST", this.#adminUrl("query"), { body: { query }, signal });
    for (const { id, status } of Invocations.parse(found).rows) {
      const url = this.#adminUrl("invocations", id, status === "running" ? "kill" : "resume");
      await this.#request("PATCH", url, { signal }).catch((error: unknown) => {
        // It has ended or gone on meanwhile.
        if (!(error instanceof RestateError) || (error.status ?? 500) >= 500) throw error;
      });
    }
  }

  /** Throws if the server does not answer as it should. */
  async check(signal?: AbortSignal): Promise<void> {
    const { ingress, admin } = this.#address;
    for (const url of [`${trimmed(ingress)}/restate/health`, `${trimmed(admin)}/health`])
      await this.#request("GET", url, { signal, patience: HEALTH_MS });
  }

  #adminUrl(...path: readonly string[]): string {
    return [trimmed(this.#address.admin), ...path.map(encodeURIComponent)].join("/");
  }

  async #request(
    method: "GET" | "POST" | "PATCH",
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
          accept: "application/json",
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
      { status: response.status },
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
