import { type AhpEvent, BatchResponse, Decision } from "@reins/ahp";
import { type Check, Inapplicable, Unmet } from "../check.ts";
import { expectDecoded } from "../expect.ts";
import { event } from "../messages.ts";
import type { Probe } from "../probe.ts";

/** Things on which policies tend to differ. */
const CANDIDATES: readonly AhpEvent[] = [
  event("pre_action"),
  event("pre_action", { payload: tool("bash", { command: "rm -rf /" }) }),
  event("pre_action", { payload: tool("rm", {}) }),
  event("pre_action", { payload: tool("write_file", { path: "/etc/passwd", content: "" }) }),
  event("pre_prompt"),
];

/** Order shows only where two events are decided on differently; which ones is the harness's affair. */
export const batchOrder: Check = {
  id: "batch-order",
  title: "the decisions of a batch come in the order of its events",
  level: "must",
  run: async (probe) => {
    const before = await decideOnEach(probe);
    const differing = CANDIDATES.findIndex((_, index) => before[index] !== before[0]);
    if (differing < 0) throw new Inapplicable("the harness decides the same on everything the kit tried");
    const limit = probe.harness?.config?.batch_size ?? CANDIDATES.length;
    if (limit < 2) throw new Inapplicable(`batch_size is ${limit}`);
    for (const order of [
      [0, differing],
      [differing, 0],
    ]) {
      const events = order.flatMap((index) => CANDIDATES[index] ?? []);
      const answer = await probe.call("ahp/batch", { events });
      const { decisions } = expectDecoded(BatchResponse, answer);
      const expected = order.map((index) => before[index]).join();
      if (decisions.map(({ decision }) => decision).join() === expected) continue;
      if ((await decideOnEach(probe)).join() !== before.join())
        throw new Inapplicable("the harness does not decide the same twice");
      throw new Unmet(`decided on one by one, these events get ${expected}`, answer);
    }
  },
};

async function decideOnEach(probe: Probe): Promise<string[]> {
  const answers = await probe.callEach("ahp/event", CANDIDATES);
  return answers.map((answer) => expectDecoded(Decision, answer).decision);
}

function tool(tool_name: string, args: object): object {
  return { action_type: "tool_call", tool_name, arguments: args };
}
