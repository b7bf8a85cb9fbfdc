import type { Session } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { acpClient } from "../../acp/acp-client.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/form.tsx";
import { Icon } from "../../design/icons.tsx";
import { Failure } from "../../design/states.tsx";
import { sessionState, sessionTitle } from "./sessions.ts";

/** Forks or ends a session, or stops its turn. */
export function SessionActions({ session, canStop }: { session: Session; canStop: boolean }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEnding, setEnding] = useState(false);
  const refresh = () => queries.invalidateQueries({ queryKey: ["sessions"] });
  const stop = useMutation({ mutationFn: () => acpClient.stop(session.id), onSettled: refresh });
  const fork = useMutation({
    mutationFn: () => acpClient.fork(session.id, session.cwd, `Fork of ${sessionTitle(session)}`),
    onSuccess: (id) => navigate({ to: "/sessions/$id", params: { id } }),
    onSettled: refresh,
  });
  const end = useMutation({
    mutationFn: () => acpClient.terminate(session.id),
    onSuccess: () => setEnding(false),
    onSettled: refresh,
  });
  const error = stop.error ?? fork.error;
  if (session.ended) return null;
  return (
    <div className="flex items-center gap-1.5">
      {canStop && session.state === "running" && (
        <Button disabled={stop.isPending} title="Stop the turn" onClick={() => stop.mutate()}>
          <Icon name="stop" size={13} /> Stop
        </Button>
      )}
      <Button
        kind="quiet"
        disabled={fork.isPending}
        title="Starts a new session with this history"
        onClick={() => fork.mutate()}
      >
        <Icon name="fork" size={13} /> {fork.isPending ? "Forking …" : "Fork"}
      </Button>
      <Button kind="quiet" title="Ends the session permanently" onClick={() => setEnding(true)}>
        <Icon name="close" size={13} /> End
      </Button>
      <Failure error={error} />
      <Dialog
        open={isEnding}
        onClose={() => setEnding(false)}
        title="End this session?"
        about="Its turn is cancelled and it accepts no more prompts. Its record stays in the ledger."
      >
        <Failure error={end.error} />
        <div className="flex justify-end gap-1.5">
          <Button onClick={() => setEnding(false)}>Cancel</Button>
          <Button kind="danger" disabled={end.isPending} onClick={() => end.mutate()}>
            {end.isPending ? "Ending …" : "End session"}
          </Button>
        </div>
      </Dialog>
    </div>
  );
}

/** The state of a session; `pending` is the number of its pending approvals. */
export function StateBadge({ session, pending }: { session: Session; pending: number }) {
  const { text, title, tone } = sessionState(session, pending);
  return (
    <Badge tone={tone} title={title}>
      {text}
    </Badge>
  );
}
