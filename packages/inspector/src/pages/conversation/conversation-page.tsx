import { Page } from "../../design/page.tsx";

/** Conversation. */
export function ConversationPage() {
  return <Page title="Conversation">{undefined}</Page>;
}
