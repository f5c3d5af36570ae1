// Shows /openapi.json. Text is inserted as text only, so nothing in it can become markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value !== undefined && value !== "") node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

function follow(api, schema) {
  if (!schema || !schema.$ref) return schema;
  return schema.$ref.replace("#/", "").split("/").reduce((at, key) => at && at[key], api);
}

// Formats a schema as a short type: the name of a reference, or the types it is composed of.
function kind(schema) {
  if (!schema) return "anything";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const many = schema.oneOf || schema.anyOf || schema.allOf;
  if (many) return many.map(kind).join(schema.allOf ? " & " : " | ");
  if (schema.type === "array") return kind(schema.items) + "[]";
  return [].concat(schema.type || "anything").join(" | ");
}

// Renders text between backticks as code.
function prose(text) {
  return (text || "").split("`").map((piece, at) =>
    at % 2 === 1 ? make("code", {}, piece) : piece);
}

// Renders the type as text, or as a link to the schema that it names.
function typed(schema) {
  const named = schema && (schema.$ref ? schema : schema.items && schema.items.$ref && schema.items);
  const text = make("code", {}, kind(schema));
  return named ? make("a", { href: `#schema-${kind(named)}` }, text) : text;
}

// Returns the fields of a schema and of all schemas that it is composed of.
function merged(api, schema) {
  const found = follow(api, schema) || {};
  const parts = (found.allOf || []).map((part) => merged(api, part));
  return {
    properties: Object.assign({}, ...parts.map((part) => part.properties), found.properties),
    required: [...parts.flatMap((part) => part.required), ...(found.required || [])],
  };
}

function cell(...children) {
  return make("td", {}, ...children);
}

function table(head, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, head.map((name) => make("th", {}, name)))),
    make("tbody", {}, rows));
}

function fields(api, schema) {
  const found = follow(api, schema) || {};
  const whole = merged(api, found);
  const properties = Object.entries(whole.properties);
  if (properties.length === 0) return make("p", {}, make("code", {}, kind(found)));
  const required = new Set(whole.required);
  return table(["field", "type", ""], properties.map(([name, property]) => make("tr", {},
    cell(make("code", {}, name)),
    cell(typed(property)),
    cell(required.has(name) ? "required. " : "", prose(property.description)))));
}

function body(api, content) {
  return Object.entries(content || {}).map(([media, { schema }]) => make("div", {},
    make("p", {}, make("code", {}, media), " ", typed(schema)),
    media === "application/json" ? fields(api, schema) : null));
}

function anchor(method, path) {
  return `${method}-${path.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "")}`;
}

function operation(api, path, method, one) {
  const parts = [
    make("span", { class: "class" }, one["x-class"] || ""),
    make("h3", {}, make("span", { class: "method" }, method.toUpperCase()),
      make("span", { class: "path" }, path)),
    make("p", {}, prose(one.summary)),
    one.description && one.description !== one.summary ? make("p", {}, prose(one.description)) : null,
  ];
  if (one.parameters && one.parameters.length) {
    parts.push(make("h4", {}, "Parameters"), table(["name", "in", "type", ""],
      one.parameters.map((parameter) => make("tr", {},
        cell(make("code", {}, parameter.name)), cell(parameter.in),
        cell(typed(parameter.schema)),
        cell(parameter.required ? "required. " : "", prose(parameter.description))))));
  }
  if (one.requestBody) {
    parts.push(make("h4", {}, "Body"), body(api, one.requestBody.content));
  }
  parts.push(make("h4", {}, "Answers"));
  for (const [status, answer] of Object.entries(one.responses || {})) {
    const response = follow(api, answer);
    parts.push(make("details", {},
      make("summary", {}, make("code", {}, status), " ", prose(response.description)),
      body(api, response.content)));
  }
  return make("section", { class: "operation", id: anchor(method, path) }, parts);
}

function codes(list) {
  return table(["status", "code", "title", "again?", "what to do"], list.map((one) =>
    make("tr", { id: one.code, class: "code" },
      cell(String(one.status)), cell(make("code", {}, one.code)), cell(one.title),
      cell(one.retriable ? "yes" : "no"), cell(prose(one.next_action)))));
}

function schemas(api) {
  const all = Object.entries((api.components && api.components.schemas) || {});
  return all.map(([name, schema]) => make("section", { class: "operation", id: `schema-${name}` },
    make("h3", {}, name), make("p", {}, prose(schema.description)), fields(api, schema)));
}

function show(api) {
  const main = document.getElementById("main");
  const contents = document.getElementById("contents");
  document.getElementById("title").textContent = `${api.info.title} API`;
  document.getElementById("about").textContent = api.info.description || "";
  const byTag = new Map();
  for (const [path, item] of Object.entries(api.paths || {})) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = (item[method].tags || ["other"])[0];
      if (!byTag.has(tag)) byTag.set(tag, []);
      byTag.get(tag).push([path, method, item[method]]);
    }
  }
  // The operations of the server itself come last.
  const last = ([tag]) => (tag === "system" ? 1 : 0);
  for (const [tag, operations] of [...byTag].sort((a, b) => last(a) - last(b))) {
    main.append(make("h2", { id: `tag-${tag}` }, tag));
    contents.append(make("h2", {}, tag));
    for (const [path, method, one] of operations) {
      main.append(operation(api, path, method, one));
      contents.append(make("a", { href: `#${anchor(method, path)}` },
        `${method.toUpperCase()} ${path}`));
    }
  }
  main.append(make("h2", { id: "errors" }, "Errors"), codes(api["x-error-codes"] || []));
  main.append(make("h2", { id: "schemas" }, "Schemas"), ...schemas(api));
  contents.append(make("h2", {}, "more"), make("a", { href: "#errors" }, "Errors"),
    make("a", { href: "#schemas" }, "Schemas"));
  if (location.hash) {
    const aim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (aim) aim.scrollIntoView();
  }
}

function filter(event) {
  const asked = event.target.value.trim().toLowerCase();
  for (const node of document.querySelectorAll("section.operation, tr.code")) {
    node.hidden = asked !== "" && !node.textContent.toLowerCase().includes(asked);
  }
}

document.getElementById("filter").addEventListener("input", filter);
fetch("/openapi.json")
  .then((answer) => answer.json())
  .then(show)
  .catch((error) => {
    document.getElementById("about").textContent = `The description cannot be read: ${error}`;
  });
