import type { Approval, ApprovalChange } from "@reins/api";
import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../../test/sample-approval.ts";
import { ApiClient } from "../../client/api-client.ts";
import { type ApiTransport, Unreachable } from "../../client/transport.ts";
import { approvalFeed } from "./approval-source.ts";

const first = sampleApproval({ id: "apr_first" });
const second = sampleApproval({ id: "apr_second" });
const change = (seq: number, approval: Approval): ApprovalChange => ({ seq, at: "", entry: "", approval });

/** A Reins that lists what waits and streams changes; each stream breaks off behind its last one. */
function reinsWith(waiting: Approval[][], ...streams: ApprovalChange[][]) {
  const afters: (string | undefined)[] = [];
  const transport: ApiTransport = {
    address: "here",
    send: async () => ({ status: 200, body: { approvals: waiting.shift() ?? [] } }),
    async follow(_path, { after }) {
      afters.push(after);
      const changes = streams.shift();
      if (!changes) throw new Unreachable("gone", "");
      const text = changes.map(
        (each) => `id: ${each.seq}\nevent: approval\ndata: ${JSON.stringify(each)}\n\n`,
      );
      return {
        status: 200,
        chunks: (async function* () {
          for (const each of text) yield Buffer.from(each);
        })(),
      };
    },
  };
  return { client: new ApiClient(transport), afters };
}

async function seen(client: ApiClient, patience: number): Promise<string[]> {
  const found: string[] = [];
  const lost = async (error: Unreachable, attempt: number) => {
    found.push(`lost ${attempt}`);
    if (attempt >= patience) throw error;
  };
  const feed = approvalFeed(client, { signal: new AbortController().signal, lost });
  try {
    for await (const { approval, seq } of feed)
      found.push(`${approval.id} ${approval.state} ${seq ?? "waits"}`);
  } catch (error) {
    found.push(`ended: ${error instanceof Error ? error.message : error}`);
  }
  return found;
}

describe("the stream of approvals", () => {
  it("starts with the pending ones, then has every change once, also after a reconnect", async () => {
    const { client, afters } = reinsWith(
      [[first], [second]],
      [change(4, first), change(5, { ...first, state: "approved" })],
      [change(6, { ...first, state: "used" }), change(7, second)],
    );
    expect(await seen(client, 1)).toEqual([
      "apr_first pending waits",
      "apr_first approved 5",
      "lost 0",
      "apr_second pending waits",
      "apr_first used 6",
      "lost 0",
      "lost 1",
      "ended: gone",
    ]);
    expect(afters).toEqual([undefined, "5", "7"]);
  });

  it("ends at once when it cannot connect", async () => {
    const { client } = reinsWith([]);
    expect(await seen(client, 9)).toEqual(["ended: gone"]);
  });
});
