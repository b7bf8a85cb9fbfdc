import { boardOperations } from "@reins/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/call.ts";
import { Button } from "../../design/button.tsx";
import { TextInput } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";

/** Leaves word on the board, for everybody. */
export function PostForm() {
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
          aria-label="Word for everybody"
          placeholder="word for everybody"
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
