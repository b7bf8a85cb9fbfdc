import type { Approval, ApprovalChange } from "@reins/api";
import type { FetchRequest } from "@reins/sdk/http";
import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../../test/sample-approval.ts";
import { ApiClient } from "../../client/api-client.ts";
import { approvalFeed } from "./approval-source.ts";

const first = sampleApproval({ id: "apr_first" });
const second = sampleApproval({ id: "apr_second" });
const change = (seq: number, approval: Approval): ApprovalChange => ({ seq, at: "", entry: "", approval });

/** A Reins that lists what waits and streams changes; each stream breaks off behind its last one. */
function reinsWith(waiting: Approval[][], ...streams: ApprovalChange[][]) {
  const afters: (string | undefined)[] = [];
  const fetch = async (url: string, { headers }: FetchRequest) => {
    if (!url.endsWith("/stream")) {
      const isList = url.includes("state=pending");
      return Response.json({ approvals: isList ? (waiting.shift() ?? []) : [] });
    }
    afters.push(headers["last-event-id"]);
    const changes = streams.shift();
    if (!changes) throw new Error("gone");
    const text = changes.map((each) => `id: ${each.seq}\nevent: approval\ndata: ${JSON.stringify(each)}\n\n`);
    return new Response(text.join(""));
  };
  return { client: new ApiClient({ address: "here", fetch }), afters };
}

/** What is seen until the connection is lost for the last time. */
async function seen(client: ApiClient, losses: number): Promise<string[]> {
  const found: string[] = [];
  const stop = new AbortController();
  const onLost = () => {
    found.push("lost");
    if (found.filter((one) => one === "lost").length === losses) stop.abort();
  };
  try {
    for await (const { approval, seq } of approvalFeed(client, { signal: stop.signal, onLost }))
      found.push(`${approval.id} ${approval.state} ${seq ?? "waits"}`);
  } catch (error) {
    found.push(`ended: ${error instanceof Error ? error.message : error}`);
  }
  return found;
}

describe("the stream of approvals", () => {
  it("starts with the pending ones, then has every change once, also after a reconnect", async () => {
    const { client, afters } = reinsWith(
      [[first]],
      [change(4, first), change(5, { ...first, state: "approved" })],
      [change(6, { ...first, state: "used" }), change(7, second)],
    );
    expect(await seen(client, 2)).toEqual([
      "apr_first pending waits",
      "apr_first approved 5",
      "lost",
      "apr_first used 6",
      "apr_second pending 7",
      "lost",
    ]);
    expect(afters).toEqual([undefined, "5"]);
  });

  it("ends at once when it cannot connect", async () => {
    const fetch = () => Promise.reject(new Error("gone"));
    const client = new ApiClient({ address: "here", fetch });
    expect(await seen(client, 9)).toEqual(["ended: Reins cannot be reached at here: gone"]);
  });
});
