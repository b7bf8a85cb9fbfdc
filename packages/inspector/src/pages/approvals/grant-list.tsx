import { approvalOperations, type Grant } from "@reins/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/call.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";
import { commandText, effectText } from "./action-text.ts";

/** The grants, each with a button that revokes it. */
export function GrantList() {
  const { data, error, refetch } = useQuery({
    queryKey: ["grants"],
    queryFn: ({ signal }) => call(approvalOperations.listGrants, { query: { limit: 200 }, signal }),
  });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <Waiting what="Loading grants" />;
  if (data.grants.length === 0)
    return (
      <Empty title="No grants">
        “Always …” creates a grant. Grants are listed here until they are revoked.
      </Empty>
    );
  return (
    <Table
      label="Grants"
      columns={[
        { title: "Agent" },
        { title: "May" },
        { title: "Where" },
        { title: "Granted by" },
        { title: "Ends" },
        { title: "Uses", isNumber: true },
        { title: "Revoke", isHidden: true },
      ]}
    >
      {data.grants.map((grant) => (
        <Row key={grant.id} grant={grant} />
      ))}
    </Table>
  );
}

function Row({ grant }: { grant: Grant }) {
  const { id, agent, effects, tool, cwd, by, expires_at, revoked_at, uses, prefix } = grant;
  const exactly = effects.length > 0 ? effects.map(effectText).join("; ") : visibleLine(tool);
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => call(approvalOperations.revokeGrant, { params: { id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["grants"] }),
  });
  return (
    <tr>
      <Cell>{visibleLine(agent)}</Cell>
      <Cell isExact className="max-w-96 whitespace-pre-wrap break-all">
        {prefix ? `${commandText(prefix)} …` : exactly}
      </Cell>
      <Cell isExact className="whitespace-pre-wrap break-all">
        {visibleLine(cwd)}
      </Cell>
      <Cell>{by.join(", ")}</Cell>
      <Cell>
        {revoked_at !== undefined ? (
          <Badge>revoked</Badge>
        ) : expires_at !== undefined ? (
          <Moment at={expires_at} />
        ) : (
          "when revoked"
        )}
      </Cell>
      <Cell isNumber>{uses}</Cell>
      <Cell>
        {revoked_at === undefined && (
          <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke
          </Button>
        )}
        {revoke.error && <Failure error={revoke.error} />}
      </Cell>
    </tr>
  );
}
