import { type Section, Unmet } from "../check.ts";
import { expectAlive, expectNothingDone } from "../expect.ts";
import { HANDSHAKE, requestText } from "../messages.ts";
import { invalidUtf8 } from "./invalid-utf8.ts";
import { load } from "./load.ts";
import { nesting } from "./nesting.ts";

const NOT_JSON = ["not json", "{", '"', '{"jsonrpc":"2.0","id":"x"', "]]]", "{'a':1}", "\u0000", "\ufeff{}"];
const NO_MESSAGES = [
  "null",
  "5",
  '"x"',
  "[]",
  "{}",
  '{"jsonrpc":"2.0"}',
  '{"jsonrpc":2,"id":"x","method":"ahp/handshake","params":{}}',
  '{"jsonrpc":"2.0","id":"x","method":5,"params":{}}',
  '{"jsonrpc":"2.0","id":"x","params":{}}',
  '{"jsonrpc":"2.0","id":"x","method":"ahp/batch"}',
];

/** Bad input gets a clear answer or none, and spoils nothing for others. */
export const robustness: Section = {
  section: "Robustness",
  reference: "Design Principles (fail closed; bounded recursion and batching)",
  checks: [
    {
      id: "not-json-survived",
      title: "what is not JSON is not carried out, and the connection goes on",
      level: "must",
      run: async (probe) => {
        for (const text of NOT_JSON) expectNothingDone(await probe.offer(text), JSON.stringify(text));
      },
    },
    {
      id: "no-message-survived",
      title: "JSON that is no message is not carried out, and the connection goes on",
      level: "must",
      run: async (probe) => {
        for (const text of NO_MESSAGES) expectNothingDone(await probe.offer(text), text);
      },
    },
    {
      id: "duplicate-keys-survived",
      title: "a message that names a member twice gets one answer at most",
      level: "must",
      run: async (probe) => {
        const text = requestText("first", "ahp/handshake", HANDSHAKE);
        const offered = await probe.offer(text.replace('"id":"first"', '"id":"first","id":"second"'));
        if (offered.answers.length > 1) throw new Unmet("two answers to one message");
        expectAlive(offered);
      },
    },
    ...invalidUtf8,
    ...nesting,
    ...load,
  ],
};
