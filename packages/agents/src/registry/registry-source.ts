import { join } from "node:path";
import { errorMessage, readJsonFile, readLimited, replaceFile } from "@reins/kit";
import { z } from "zod";
import { AgentError } from "../agent-error.ts";
import { download } from "./download.ts";
import { type RegistryDocument, readRegistry } from "./registry-document.ts";

/** Where agents are published. */
const PUBLIC_REGISTRY = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";
/** In place of an address: no registry is used. */
const OFF = "off";

export interface RegistrySourceOptions {
  /** The folder that holds one folder for each agent. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether nothing is fetched: what was fetched earlier counts. */
  readonly offline?: boolean | undefined;
  /** As `process.platform`-`process.arch`. */
  readonly platform?: string;
  readonly now?: () => Date;
  /** How long a registry may take to answer. */
  readonly timeoutMs?: number;
}

/** What is known of the registry. */
export interface RegistryState extends RegistryDocument {
  /** `current`: confirmed lately; `cached`: of an earlier time; `unavailable`: nothing is known; `off`: none is used. */
  readonly state: "current" | "cached" | "unavailable" | "off";
  readonly url: string | undefined;
  /** When its content was last confirmed. */
  readonly confirmedAt: Date | undefined;
  /** Why it could not be asked. */
  readonly fault: string | undefined;
}

const MOST_BYTES = 4 * 1024 * 1024;
const FRESH_MS = 60 * 60 * 1_000;
/** How long a registry that could not be asked is not asked again. */
const PAUSE_MS = 60_000;

const Cached = z.object({
  url: z.string(),
  etag: z.string().optional(),
  confirmed_at: z.iso.datetime(),
  body: z.string().max(MOST_BYTES),
});
type Cached = z.infer<typeof Cached>;

interface ReadOptions {
  readonly refresh?: boolean | undefined;
  readonly background?: boolean | undefined;
}

const EMPTY: RegistryDocument = { agents: new Map(), refused: [] };

/** The ACP registry, cached on disk. Asked at most once an hour, unless its state is wanted anew. */
export class RegistrySource {
  /** Undefined if none is used. */
  readonly url: string | undefined;
  readonly #options: Required<RegistrySourceOptions>;
  #asking: Promise<string | undefined> | undefined;
  #failed: { readonly at: number; readonly fault: string } | undefined;

  constructor(options: RegistrySourceOptions) {
    const { environment } = options;
    this.#options = {
      platform: `${process.platform}-${process.arch}`,
      now: () => new Date(),
      timeoutMs: 10_000,
      ...options,
      offline: options.offline ?? false,
    };
    const named = environment.REINS_ACP_REGISTRY_URL ?? environment.SANDBOX_AGENT_ACP_REGISTRY_URL;
    this.url = named === OFF ? undefined : named?.trim() || PUBLIC_REGISTRY;
    if (this.url !== undefined && !/^https?:$/.test(URL.parse(this.url)?.protocol ?? ""))
      throw new AgentError("invalid_entry", `REINS_ACP_REGISTRY_URL is no address of the web: ${this.url}`);
  }

  /**
   * What is known of the registry; asks it where that is too old, or `refresh` wants it, and with `background` does not wait
   * for the answer. Never throws for faults of the registry.
   */
  async read({ refresh = false, background = false }: ReadOptions = {}): Promise<RegistryState> {
    const { url } = this;
    const none = { ...EMPTY, url, confirmedAt: undefined, fault: undefined };
    if (url === undefined) return { ...none, state: "off" };
    const confirming = this.#confirm(url, refresh);
    // What goes wrong in the background shows the next time.
    confirming.catch(() => undefined);
    const fault = background ? this.#failed?.fault : await confirming;
    const cached = await this.#cached(url);
    if (!cached) return { ...none, state: "unavailable", fault };
    const confirmedAt = new Date(cached.confirmed_at);
    const age = this.#options.now().getTime() - confirmedAt.getTime();
    const isCurrent = fault === undefined && !this.#options.offline && age < FRESH_MS;
    const state = isCurrent ? "current" : "cached";
    try {
      return { ...readRegistry(cached.body, this.#options.platform), state, url, confirmedAt, fault };
    } catch (error) {
      return { ...none, state: "unavailable", fault: errorMessage(error) };
    }
  }

  /** Asks the registry where that is due. Returns why it could not be asked. */
  async #confirm(url: string, refresh: boolean): Promise<string | undefined> {
    if (this.#options.offline) return undefined;
    const now = this.#options.now().getTime();
    if (!refresh) {
      if (this.#failed && now - this.#failed.at < PAUSE_MS) return this.#failed.fault;
      const cached = await this.#cached(url);
      const age = cached ? now - Date.parse(cached.confirmed_at) : Number.POSITIVE_INFINITY;
      if (age >= 0 && age < FRESH_MS) return undefined;
    }
    this.#asking ??= this.#ask(url).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(url: string): Promise<string | undefined> {
    try {
      await this.#fetch(url);
      this.#failed = undefined;
      return undefined;
    } catch (error) {
      const fault = errorMessage(error);
      this.#failed = { at: this.#options.now().getTime(), fault };
      return fault;
    }
  }

  async #fetch(url: string): Promise<void> {
    const { now, timeoutMs, platform } = this.#options;
    const cached = await this.#cached(url);
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = {
      accept: "application/json",
      ...(cached?.etag !== undefined && { "if-none-match": cached.etag }),
    };
    const { status, body, etag } = await download(url, { trusted: url, headers, signal });
    const confirmed_at = now().toISOString();
    if (status === 304 && cached) {
      body.destroy();
      return this.#keep({ ...cached, confirmed_at });
    }
    if (status !== 200) {
      body.destroy();
      throw new AgentError("download_failed", `the registry answered with the status ${status}`);
    }
    const bytes = await readLimited(body, MOST_BYTES);
    if (!bytes) throw new AgentError("download_failed", `the registry is larger than ${MOST_BYTES} bytes`);
    const text = bytes.toString("utf8");
    // What is no registry does not take the place of one.
    readRegistry(text, platform);
    return this.#keep({ url, etag, confirmed_at, body: text });
  }

  async #cached(url: string): Promise<Cached | undefined> {
    const cached = await readJsonFile(this.#file, Cached);
    return cached?.url === url ? cached : undefined;
  }

  #keep(cached: Cached): Promise<void> {
    return replaceFile(this.#file, JSON.stringify(cached));
  }

  get #file(): string {
    return join(this.#options.folder, "registry.json");
  }
}
