import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterContextProvider,
} from "@tanstack/react-router";
import { createElement, type ReactElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";

/** Renders an element to HTML as the page would on its first render: with queries and links, without effects. */
export function rendered(element: ReactElement, queries = new QueryClient()): string {
  const router = createRouter({
    routeTree: createRootRoute(),
    history: createMemoryHistory(),
    basepath: "/ui",
  });
  const children = createElement(QueryClientProvider, { client: queries }, element);
  return renderToStaticMarkup(createElement(RouterContextProvider, { router, children }));
}

/** The text of an element as a reader sees it, one space between elements. */
export function renderedText(element: ReactElement, queries?: QueryClient): string {
  return rendered(element, queries)
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&gt;", ">")
    .replaceAll("&lt;", "<")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** A cache of queries that already has the results of some. */
export function cached(
  ...results: readonly (readonly [key: readonly string[], data: unknown])[]
): QueryClient {
  const queries = new QueryClient();
  for (const [key, data] of results) queries.setQueryData(key, data);
  return queries;
}
