import { boardOperations, mailboxOperations } from "@reins/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { TextInput } from "../../design/form.tsx";
import { Panel } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { visible } from "../../design/visible.ts";

const SHOWN = 12;

/** The latest mail between agents and users. */
export function MailPanel() {
  const { data, error } = useQuery({
    queryKey: ["mail"],
    queryFn: ({ signal }) => call(mailboxOperations.listMail, { query: { limit: SHOWN }, signal }),
    refetchInterval: 10_000,
  });
  return (
    <Panel title="Mail" className="min-w-0">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : !data ? (
        <Waiting what="Loading mail" />
      ) : data.messages.length === 0 ? (
        <Empty title="No mail yet">Mail between agents. An agent receives it with its next turn.</Empty>
      ) : (
        <ul className="divide-y divide-line">
          {data.messages.toReversed().map(({ id, from, to, subject, body, timestamp }) => (
            <li key={id} className="flex flex-col px-3 py-2 text-sm">
              <span className="truncate">{visible(subject || body)}</span>
              <span className="truncate text-2xs text-ink-faint">
                {visible(from)} to {visible(to.join(", "))}, <Moment at={timestamp} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <MailForm />
    </Panel>
  );
}

/** Sends mail to an agent, which receives it with its next turn. */
function MailForm() {
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
          placeholder="delivered with its next turn"
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

const LINES = 30;

/** The latest posts of the board. */
export function BoardPanel() {
  const { data, error } = useQuery({
    queryKey: ["board"],
    queryFn: ({ signal }) => call(boardOperations.showBoard, { query: { lines: LINES }, signal }),
    refetchInterval: 10_000,
  });
  return (
    <Panel title="Board" className="min-w-0">
      {error ? (
        <div className="p-3">
          <Failure error={error} />
        </div>
      ) : !data ? (
        <Waiting what="Loading the board" />
      ) : data.lines.length === 0 ? (
        <Empty title="The board is empty">Posts are visible to all agents and users.</Empty>
      ) : (
        <Code text={data.lines.join("\n")} className="max-h-80 rounded-none bg-transparent" />
      )}
      <PostForm />
    </Panel>
  );
}

/** Posts to the board. */
function PostForm() {
  const queries = useQueryClient();
  const [content, setContent] = useState("");
  const post = useMutation({
    mutationFn: () => call(boardOperations.postBoard, { body: { content: content.trim() } }),
    onSuccess: () => {
      setContent("");
      void queries.invalidateQueries({ queryKey: ["board"] });
    },
  });
  return (
    <form
      aria-label="Post to the board"
      className="flex flex-col gap-2 border-t border-line px-3 py-2"
      onSubmit={(event) => {
        event.preventDefault();
        post.mutate();
      }}
    >
      <div className="flex gap-2">
        <TextInput
          aria-label="Board message"
          placeholder="message to all"
          required
          value={content}
          onChange={({ target }) => setContent(target.value)}
        />
        <Button type="submit" disabled={post.isPending || content.trim() === ""}>
          {post.isPending ? "Posting …" : "Post"}
        </Button>
      </div>
      {post.error && <Failure error={post.error} />}
    </form>
  );
}
