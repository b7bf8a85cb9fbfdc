import { ModelGateway, ModelPrice, PROVIDERS, PriceList, ProviderKeys } from "@reins/gateway";
import { type GatewayUse, ModelAccess } from "@reins/host";
import { z } from "zod";

const Switch = z.union([z.enum(["on", "off"]), z.boolean()]);
/** An object switches it on, and names the model. */
const Use = z.union([Switch, z.strictObject({ model: z.string().min(1).optional() })]);
type Use = z.infer<typeof Use>;

const Settings = z.strictObject({
  /** Which agents reach their models through it, by id; `*` is all others. */
  agents: z.record(z.string(), Use).default({}),
  /** The addresses of providers, where they are not the usual ones; `/v1` and the like follow them. */
  providers: z
    .partialRecord(z.enum(PROVIDERS), z.strictObject({ url: z.url({ protocol: /^https?$/ }) }))
    .default({}),
  /** The prices of models, in place of those that Reins knows. */
  prices: z.record(z.string().min(1), ModelPrice).default({}),
  /** What all other models are counted as. Where it is absent, limits on cost refuse them. */
  unknown_price: ModelPrice.optional(),
});

/** `gateway` in `reins.yaml`; a switch is for all agents. */
export const GatewaySettings = z
  .union([Switch.transform((all): z.input<typeof Settings> => ({ agents: { "*": all } })), Settings])
  .pipe(Settings)
  .prefault({});
type GatewaySettings = z.infer<typeof GatewaySettings>;

/** The gateway to models of a home; nothing where no agent uses it. */
export function modelAccess(
  home: string,
  { agents, providers, prices, unknown_price }: GatewaySettings,
  environment: Readonly<Record<string, string | undefined>>,
  onError: (error: unknown) => void,
): ModelAccess | undefined {
  if (!Object.values(agents).some((use) => useOf(use) !== undefined)) return undefined;
  const addresses = Object.fromEntries(Object.entries(providers).map(([name, { url }]) => [name, url]));
  const gateway = new ModelGateway({
    keys: new ProviderKeys(home, environment),
    prices: new PriceList(prices, unknown_price),
    ...{ addresses, onError },
  });
  return new ModelAccess(gateway, (agent) =>
    useOf(Object.hasOwn(agents, agent) ? agents[agent] : agents["*"]),
  );
}

function useOf(use: Use | undefined): GatewayUse | undefined {
  if (use === undefined || use === "off" || use === false) return undefined;
  return typeof use === "object" ? use : {};
}
