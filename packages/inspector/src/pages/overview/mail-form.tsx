import { mailboxOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { Button } from "../../design/button.tsx";
import { TextInput } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";

/** Writes to an agent, which gets it with its next turn. */
export function MailForm() {
  const queries = useQueryClient();
  const [to, setTo] = useState("");
  const [body, setBody] = useState("");
  const send = useMutation({
    mutationFn: () => call(mailboxOperations.sendMail, { body: { to: to.trim(), body } }),
    onSuccess: () => {
      setBody("");
      void queries.invalidateQueries({ queryKey: ["mail"] });
    },
  });
  return (
    <form
      aria-label="Write to an agent"
      className="flex flex-col gap-2 border-t border-line px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        send.mutate();
      }}
    >
      <div className="flex gap-2">
        <TextInput
          aria-label="To"
          placeholder="to"
          className="max-w-24"
          required
          value={to}
          onChange={({ target }) => setTo(target.value)}
        />
        <TextInput
          aria-label="Message"
          placeholder="it gets this with its next turn"
          required
          value={body}
          onChange={({ target }) => setBody(target.value)}
        />
        <Button type="submit" disabled={send.isPending || to.trim() === "" || body.trim() === ""}>
          {send.isPending ? "Sending …" : "Send"}
        </Button>
      </div>
      {send.error && <Failure error={send.error} />}
    </form>
  );
}
