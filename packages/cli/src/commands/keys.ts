import { text as readAll } from "node:stream/consumers";
import { PROVIDERS, ProviderKeyError, ProviderKeys } from "@reins/gateway";
import { command, group, HOME } from "../command.ts";
import { CliError, EXIT } from "../errors.ts";
import { table } from "../output.ts";

const PROVIDER = ["<provider>", "the provider", { choices: PROVIDERS }] as const;
const JSON_FLAG = ["--json", "print the result as JSON"] as const;
const CODES = { done: "done", failed: "the key is none, or the file cannot be used", usage: "wrong usage" };

const DESCRIPTION =
  "The keys of model providers that the gateway uses in place of agents: kept in keys/providers.json of the home, which " +
  "only this user can read, and never printed.";

export const keysCommand = group(DESCRIPTION, {
  set: command({
    summary: "keep the key of a provider, read from stdin",
    description:
      "Keeps the key of a provider, in place of the one before. Reads it from stdin, never from an argument.",
    inputs: { provider: PROVIDER, home: HOME, json: JSON_FLAG },
    note: "A running Reins uses it from the next call on.",
    examples: ["reins keys set anthropic < key.txt", "pass show openai | reins keys set openai"],
    codes: CODES,
    async run({ provider, home }) {
      const key = (await readAll(process.stdin)).trim();
      await held(() => new ProviderKeys(home).set(providerOf(provider), key, new Date()));
      return { json: { provider, set: true }, text: () => `set  ${provider}\n` };
    },
  }),
  list: command({
    summary: "list providers with a key, never the keys",
    description: "Lists the providers that a key is kept for, and since when.",
    inputs: { home: HOME, json: JSON_FLAG },
    examples: ["reins keys list"],
    codes: CODES,
    async run({ home }) {
      const keys = await held(() => new ProviderKeys(home).list());
      const rows = keys.map(({ provider, set }) => [provider, set]);
      const text = () => (rows.length === 0 ? "There are none.\n" : table([["provider", "set"], ...rows]));
      return { json: { keys }, text };
    },
  }),
  remove: command({
    summary: "remove the key of a provider",
    description: "Removes the key of a provider. Calls with it are refused from the next one on.",
    inputs: { provider: PROVIDER, home: HOME, json: JSON_FLAG },
    examples: ["reins keys remove gemini"],
    codes: CODES,
    async run({ provider, home }) {
      const removed = await held(() => new ProviderKeys(home).remove(providerOf(provider)));
      return {
        json: { provider, removed },
        text: () => (removed ? `removed  ${provider}\n` : `There is no key for ${provider}.\n`),
      };
    },
  }),
});

function providerOf(name: string): (typeof PROVIDERS)[number] {
  const found = PROVIDERS.find((provider) => provider === name);
  if (found) return found;
  throw new CliError(`There is no provider ${name}.`, { next: `Name one of ${PROVIDERS.join(", ")}.` });
}

/** Does something with the keys. An error shows none. */
async function held<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderKeyError)) throw error;
    throw new CliError(`The keys cannot be used: ${error.message}.`, {
      next: "Correct that, then run the same command again.",
      exitCode: EXIT.failed,
    });
  }
}
