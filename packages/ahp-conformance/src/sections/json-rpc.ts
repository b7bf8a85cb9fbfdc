import { RPC } from "@reins/ahp";
import { type Section, Unmet } from "../check.ts";
import { expectError, expectResult } from "../expect.ts";
import { event, HANDSHAKE, requestText } from "../messages.ts";
import type { Offered } from "../probe.ts";

/** Where JSON-RPC 2.0 asks for more than the upstream implementation gives. */
export const jsonRpc: Section = {
  section: "JSON-RPC",
  reference: "JSON-RPC 2.0 §4.2, §5.1",
  checks: [
    {
      id: "number-id-answered",
      title: "a request whose id is a number is answered under it",
      level: "improved",
      run: async (probe) => {
        const offered = await probe.offer(requestText(7, "ahp/handshake", HANDSHAKE));
        const [answer] = offered.answers;
        if (answer?.message.id !== 7) throw new Unmet("no answer under the id 7", answer);
        expectResult(answer);
        await probe.ask(requestText(0, "ahp/event", event("pre_action")), 0, probe.decisionMs);
      },
    },
    {
      id: "odd-id-refused",
      title: "an id that is neither string nor integer is refused with -32600",
      level: "improved",
      run: async (probe) => {
        for (const id of ["1.5", "true", "{}", '["x"]']) {
          const text = requestText("", "ahp/handshake", HANDSHAKE).replace('"id":""', `"id":${id}`);
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        }
      },
    },
    {
      id: "parse-error-answered",
      title: "what is not JSON is answered with -32700 and id null",
      level: "improved",
      run: async (probe) => {
        for (const text of ["not json", '{"jsonrpc":"2.0",', '{"a":1}}'])
          expectRefusal(await probe.offer(text), RPC.parseError, null);
      },
    },
    {
      id: "invalid-message-answered",
      title: "JSON that is no message is answered with -32600, under its id if it has one",
      level: "improved",
      run: async (probe) => {
        for (const text of ["null", "[]", "{}", '{"jsonrpc":"2.0","params":{}}'])
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        const withoutParams = '{"jsonrpc":"2.0","id":"without-params","method":"ahp/handshake"}';
        expectRefusal(await probe.offer(withoutParams), RPC.invalidRequest, "without-params");
      },
    },
    {
      id: "jsonrpc-version-checked",
      title: 'a jsonrpc other than "2.0" is refused with -32600',
      level: "improved",
      run: async (probe) => {
        const text = requestText("old", "ahp/handshake", HANDSHAKE).replace('"2.0"', '"1.0"');
        expectRefusal(await probe.offer(text), RPC.invalidRequest, "old");
      },
    },
    {
      id: "duplicate-keys-refused",
      title: "a message that names a member twice is refused with -32600",
      level: "improved",
      run: async (probe) => {
        const text = requestText("twice", "ahp/handshake", HANDSHAKE);
        for (const twice of ['"protocol_version":"2.4"', '"method":"ahp/handshake"']) {
          const offered = await probe.offer(text.replace(twice, `${twice},${twice}`));
          expectRefusal(offered, RPC.invalidRequest, "twice");
        }
      },
    },
  ],
};

function expectRefusal({ answers, reply }: Offered, code: number, id: string | null): void {
  const [answer] = answers;
  if (!answer) {
    const instead = reply ? `HTTP status ${reply.status} without a JSON-RPC error` : "silence";
    throw new Unmet(`expected error ${code}, got ${instead}`);
  }
  expectError(answer, [code], "the message");
  if (answer.message.id !== id)
    throw new Unmet(`the error should come under the id ${JSON.stringify(id)}`, answer);
}
