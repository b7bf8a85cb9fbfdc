import { type AgentEntry, AgentError, type ModelEndpoint } from "@reins/agents";
import type { ModelGateway, Provider } from "@reins/gateway";
import { governCalls, type MeteredSession } from "../control/model-call.ts";
import { NATIVE_AGENT } from "../graph/run-place.ts";

/** How an agent uses the gateway to models. */
export interface GatewayUse {
  /** The model to ask for; the agent's usual one when there is none. */
  readonly model?: string | undefined;
}

/** The addresses and the key of models for one agent that runs, which are of no use once it has ended. */
export interface ModelLease {
  /** In place of the model of an agent with a process of its own. */
  readonly endpoint?: ModelEndpoint;
  /** In place of the variables of an agent that runs in this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Says where the sessions of the agent are found; before that, all calls are refused. */
  govern(sessions: () => readonly MeteredSession[]): void;
  revoke(): void;
}

const PROVIDER_OF: Readonly<Record<NonNullable<AgentEntry["endpoint"]>["dialect"], Provider>> = {
  anthropic: "anthropic",
  "openai-responses": "openai",
  "openai-chat": "openai",
  gemini: "gemini",
};

/** Leases the gateway to agents in place of providers' addresses and keys. */
export class ModelAccess {
  readonly #gateway: ModelGateway;
  readonly #useFor: (agent: string) => GatewayUse | undefined;

  constructor(gateway: ModelGateway, useFor: (agent: string) => GatewayUse | undefined) {
    this.#gateway = gateway;
    this.#useFor = useFor;
  }

  /** Whether the calls of an agent pass the gateway. */
  isMetered({ id, builtIn }: Pick<AgentEntry, "id" | "builtIn">): boolean {
    return this.#useFor(id) !== undefined && (!builtIn || id === NATIVE_AGENT);
  }

  /** Leases it to an agent that is started; nothing for one that is not configured for it. */
  async lease(entry: AgentEntry): Promise<ModelLease | undefined> {
    const { model } = this.#useFor(entry.id) ?? {};
    if (!this.isMetered(entry)) return undefined;
    if (entry.builtIn) return this.#leaseNative(model);
    const { id, name, endpoint } = entry;
    // Processes of an agent share a home, and each has a token of its own.
    if (!endpoint || JSON.stringify(endpoint.files).includes("${key"))
      throw new AgentError(
        "unsupported_agent",
        `${name} takes no key from its environment, and so cannot use the gateway; switch it off for ${id} in reins.yaml.`,
      );
    const provider = PROVIDER_OF[endpoint.dialect];
    const { url, token: key, ...lease } = await this.#lease([provider]);
    return { ...lease, endpoint: { url: `${url}/${provider}`, key, ...(model !== undefined && { model }) } };
  }

  close(): Promise<void> {
    return this.#gateway.close();
  }

  async #leaseNative(model: string | undefined): Promise<ModelLease> {
    const providers = await this.#gateway.available();
    const { url, token, ...lease } = await this.#lease(providers);
    const [anthropic, openai] = [providers.includes("anthropic"), providers.includes("openai")];
    const environment = {
      ANTHROPIC_AUTH_TOKEN: undefined,
      ANTHROPIC_API_KEY: anthropic ? token : undefined,
      ANTHROPIC_BASE_URL: anthropic ? `${url}/anthropic` : undefined,
      OPENAI_API_KEY: openai ? token : undefined,
      OPENAI_BASE_URL: openai ? `${url}/openai/v1` : undefined,
      ...(model !== undefined && { REINS_MODEL: model }),
    };
    return { ...lease, environment };
  }

  async #lease(providers: readonly Provider[]) {
    let sessions: () => readonly MeteredSession[] = () => [];
    const lease = await this.#gateway.lease(
      providers,
      governCalls(() => sessions()),
    );
    const govern: ModelLease["govern"] = (found) => {
      sessions = found;
    };
    return { ...lease, govern };
  }
}
