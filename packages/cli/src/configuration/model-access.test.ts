import { expect, test } from "vitest";
import { GatewaySettings, modelAccess } from "./model-access.ts";

const accessOf = (settings: unknown) =>
  modelAccess("/nowhere", GatewaySettings.parse(settings), {}, () => undefined);
const metered = (settings: unknown, id: string, builtIn = false) =>
  accessOf(settings)?.isMetered({ id, builtIn }) ?? false;

test("no agent uses the gateway where nothing is said, or it is switched off", () => {
  for (const settings of [undefined, {}, "off", false, { agents: { claude: "off" } }])
    expect(accessOf(settings)).toBeUndefined();
});

test.each([
  ["on", "claude", true],
  [true, "claude", true],
  [{ agents: { claude: "on" } }, "claude", true],
  [{ agents: { claude: "on" } }, "codex", false],
  [{ agents: { "*": "on", claude: "off" } }, "claude", false],
  [{ agents: { "*": "off", codex: { model: "m" } } }, "codex", true],
])("%j is for %s: %s", (settings, agent, expected) => {
  expect(metered(settings, agent)).toBe(expected);
});

test("of agents that run in Reins, the native one alone has calls to count", () => {
  expect([metered("on", "native", true), metered("on", "mcp-client", true)]).toEqual([true, false]);
});

test.each([
  { agents: { claude: "yes please" } },
  { providers: { nowhere: { url: "https://example.com" } } },
  { providers: { openai: { url: "file:///etc/passwd" } } },
  { prices: { m: { input: -1, output: 0 } } },
])("%j is refused", (settings) => {
  expect(GatewaySettings.safeParse(settings).success).toBe(false);
});
