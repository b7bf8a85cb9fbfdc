import { QueryResponse } from "@reins/ahp";
import { expect, test } from "vitest";
import { approvalFor, requestOf } from "../../test/approvals/requests.ts";
import { APPROVAL_STATES } from "../approvals/approval.ts";
import { approvalAnswer, escalationTarget } from "./queries.ts";

const approval = approvalFor(requestOf(), new Date(0));

test.each(APPROVAL_STATES)(
  "the answer to an AHP query explains %s and leaves out what does not concern the agent",
  (state) => {
    const response = approvalAnswer({ ...approval, state });
    expect(QueryResponse.parse(response)).toEqual(response);
    expect(response.answer).toMatchObject({ approval: "apr_x", state, escalation_target: "approval:apr_x" });
    expect(response.answer).not.toHaveProperty("binding");
    expect(response.reason).toBeTruthy();
  },
);

test("an approval is named by its escalation target", () => {
  expect(escalationTarget({ id: "apr_x" })).toBe("approval:apr_x");
});
