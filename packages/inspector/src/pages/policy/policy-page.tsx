import { policyOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { z } from "zod";
import { call } from "../../api/call.ts";
import { useGet } from "../../api/queries.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Button, Hash } from "../../design/button.tsx";
import { Page, Panel, Tabs } from "../../design/layout.tsx";
import { Alert, Failure, Loaded } from "../../design/states.tsx";
import { GrantList } from "../approvals/grant-list.tsx";
import { Constitution, PolicyTests } from "./constitution.tsx";
import { Coverage } from "./coverage.tsx";
import { DraftEditor } from "./draft-editor.tsx";
import { Hypothetical } from "./hypothetical.tsx";
import { PendingPolicy } from "./pending-policy.tsx";
import { RosterView } from "./roster.tsx";

/** The policy: constitution, tests, draft and roster. */
export function PolicyPage() {
  const { tab = "constitution" } = PolicySearch.parse(useSearch({ strict: false }));
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { is_admin } = useSelf();
  const query = useGet(["policy"], policyOperations.getPolicy, { everyMs: 15_000 });
  const { data } = query;
  const reload = useMutation({
    mutationFn: () => call(policyOperations.reloadPolicy),
    onSuccess: (status) => queries.setQueryData(["policy"], status),
  });
  const inForce = data?.in_force;
  return (
    <Page
      title="Policy"
      about={
        inForce && (
          <>
            {inForce.rules.length} rules in force for {data.tenant}, constitution{" "}
            <Hash value={inForce.constitution_hash} />, rules <Hash value={inForce.rules_hash} />
          </>
        )
      }
      actions={
        is_admin && (
          <Button onClick={() => reload.mutate()} disabled={reload.isPending} title="Reads the files now">
            {reload.isPending ? "Reading the files …" : "Reload"}
          </Button>
        )
      }
    >
      <Failure error={reload.error} />
      {data?.fault && (
        <Alert
          title="The file on disk is invalid; the previous constitution stays in force"
          detail={data.fault}
        />
      )}
      {data?.waiting && <PendingPolicy status={data} waiting={data.waiting} />}
      {data && !inForce && (
        <Alert title="No constitution is in force: everything is blocked until the file can be read." />
      )}
      <Panel className="flex flex-1 flex-col">
        <Loaded query={query} what="Loading the constitution">
          {(status) => (
            <Tabs
              value={tab}
              onChange={(value) =>
                void navigate({ to: "/policy", search: { tab: PolicyTab.parse(value) }, replace: true })
              }
              tabs={[
                tabOf("constitution", "Constitution", <Constitution status={status} />),
                tabOf("tests", "Tests", <PolicyTests />),
                tabOf("coverage", "Coverage", <Coverage />),
                tabOf("draft", "Draft", <DraftEditor status={status} />),
                tabOf("explain", "Explain", <Hypothetical />),
                tabOf("roster", "Roster", <RosterView />),
                tabOf("grants", "Grants", <GrantList />),
              ]}
            />
          )}
        </Loaded>
      </Panel>
    </Page>
  );
}

/** A tab of the policy, with a heading for screen readers. */
function tabOf(value: PolicyTab, label: string, view: ReactNode) {
  const content = (
    <>
      <h2 className="sr-only">{label}</h2>
      {view}
    </>
  );
  return { value, label, content };
}

const PolicyTab = z.enum(["constitution", "tests", "coverage", "draft", "explain", "roster", "grants"]);
type PolicyTab = z.infer<typeof PolicyTab>;

const PolicySearch = z.object({ tab: PolicyTab.optional().catch(undefined) });
