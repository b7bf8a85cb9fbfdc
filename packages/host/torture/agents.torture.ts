import type { Sandbox } from "@reins/runner";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { obtainSandbox } from "../../runner/test/bubblewrap.ts";
import { CASES } from "./agents/cases.ts";
import { type ExpectedCells, expectedCells } from "./agents/expected.ts";
import { MatrixAgent } from "./agents/matrix-agent.ts";

/** REINS_MATRIX_AGENTS names some of the agents; by default all are tried that there is an expectation for. */
function expectations(): Readonly<Record<string, ExpectedCells>> {
  const all = expectedCells();
  const named = process.env.REINS_MATRIX_AGENTS?.split(",");
  return named
    ? Object.fromEntries(named.map((agent) => [agent, all[agent] ?? { free: {}, confined: {} }]))
    : all;
}

/** Plays every case to one agent, and gives those that came out otherwise than expected. */
async function play(
  agent: string,
  expected: Readonly<Record<string, string>>,
  {
    sandbox,
    signal,
    log,
  }: { readonly sandbox: Sandbox | undefined } & Pick<TortureContext, "signal" | "log">,
): Promise<readonly string[]> {
  const where = sandbox ? "confined" : "free";
  const wrong: string[] = [];
  await using real = await MatrixAgent.open(agent, sandbox);
  for (const { name, run } of CASES) {
    signal.throwIfAborted();
    const found = await run(real).catch((error: unknown) => `failed: ${String(error)}`);
    const isRight = found === expected[name];
    log(
      `${isRight ? "  " : "! "}${agent}, ${where}, ${name}: ${found}${isRight ? "" : ` (expected ${expected[name] ?? "nothing"})`}`,
    );
    if (!isRight)
      wrong.push(`${agent}, ${where}, ${name}: ${found} instead of ${expected[name] ?? "nothing"}`);
  }
  return wrong;
}

export default {
  name: "agents",
  title: "every agent of the catalogue is governed as its cells of the matrix say, not confined and confined",
  async run({ scale, signal, log }) {
    const status = await obtainSandbox();
    if (!status.available) log(`not confined only: ${status.reason}`);
    const wrong: string[] = [];
    for (const [agent, { free, confined }] of Object.entries(expectations())) {
      wrong.push(...(await play(agent, free, { sandbox: undefined, signal, log })));
      if (status.available && scale === "full")
        wrong.push(...(await play(agent, confined, { sandbox: status, signal, log })));
    }
    if (wrong.length > 0) throw new Error(`cells that are not as they should be:\n${wrong.join("\n")}`);
  },
} satisfies Torture;
