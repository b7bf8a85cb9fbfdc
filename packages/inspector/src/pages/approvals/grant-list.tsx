import { approvalOperations, type Grant } from "@reins/api";
import { call, useChange, useGet } from "../../api/queries.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { visibleLine } from "../../design/format.ts";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { commandText, effectText } from "./action-text.ts";

const GRANTS = ["grants"] as const;

/** The grants, each with a button that revokes it. */
export function GrantList() {
  const query = useGet(GRANTS, approvalOperations.listGrants, { query: { limit: 200 } });
  return (
    <Loaded query={query} what="Loading grants">
      {({ grants }) => (
        <Table
          label="Grants"
          rows={grants}
          keyOf={({ id }) => id}
          empty={
            <Empty title="No grants">
              “Always …” creates a grant. Grants are listed here until they are revoked.
            </Empty>
          }
          columns={[
            { title: "Agent", cell: ({ agent }) => visibleLine(agent) },
            {
              title: "May",
              isExact: true,
              className: "max-w-96 whitespace-pre-wrap break-all",
              cell: grantedText,
            },
            {
              title: "Where",
              isExact: true,
              className: "whitespace-pre-wrap break-all",
              cell: ({ cwd }) => visibleLine(cwd),
            },
            { title: "Granted by", cell: ({ by }) => by.join(", ") },
            {
              title: "Ends",
              cell: ({ revoked_at, expires_at }) => {
                if (revoked_at !== undefined) return <Badge>revoked</Badge>;
                return expires_at === undefined ? "when revoked" : <Moment at={expires_at} />;
              },
            },
            { title: "Uses", isNumber: true, cell: ({ uses }) => uses },
            {
              title: "Revoke",
              isHidden: true,
              cell: ({ id, revoked_at }) => revoked_at === undefined && <Revoke id={id} />,
            },
          ]}
        />
      )}
    </Loaded>
  );
}

/** What a grant permits: a command prefix, or exact effects. */
function grantedText({ prefix, effects, tool }: Grant): string {
  if (prefix) return `${commandText(prefix)} …`;
  return effects.length > 0 ? effects.map(effectText).join("; ") : visibleLine(tool);
}

function Revoke({ id }: { id: string }) {
  const revoke = useChange(GRANTS, () => call(approvalOperations.revokeGrant, { params: { id } }));
  return (
    <>
      <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
        Revoke
      </Button>
      <Failure error={revoke.error} />
    </>
  );
}
