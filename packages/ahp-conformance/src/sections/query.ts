import { QueryRequest, QueryResponse, RPC } from "@reins/ahp";
import type { Section } from "../check.ts";
import { expectAllRefused, expectDecoded, expectError } from "../expect.ts";
import { QUERY } from "../messages.ts";
import { mistypedEach, withoutEach } from "../mutations.ts";

/** Questions to the harness. */
export const query: Section = {
  section: "Query",
  reference: "Methods (ahp/query)",
  checks: [
    {
      id: "query-answered",
      title: "a query is answered, or refused with -32603 where it is not supported",
      level: "must",
      run: async (probe) => {
        for (const payload of [QUERY.payload, null, "text", []]) {
          const answer = await probe.call("ahp/query", { ...QUERY, payload });
          if (answer.error) expectError(answer, [RPC.internalError], "the query");
          else expectDecoded(QueryResponse, answer, "the query");
        }
      },
    },
    {
      id: "query-members-required",
      title: "a missing member is refused with -32602, by name",
      level: "must",
      run: async (probe) => {
        const mutations = withoutEach(QueryRequest, QUERY);
        const answers = await probe.callEach(
          "ahp/query",
          mutations.map(({ value }) => value),
        );
        expectAllRefused(mutations, answers, [RPC.invalidParams], true);
      },
    },
    {
      id: "query-members-typed",
      title: "a member of the wrong type is refused with -32602",
      level: "must",
      run: async (probe) => {
        const mutations = mistypedEach(QueryRequest, QUERY);
        const answers = await probe.callEach(
          "ahp/query",
          mutations.map(({ value }) => value),
        );
        expectAllRefused(mutations, answers);
      },
    },
  ],
};
