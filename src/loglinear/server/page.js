
"use strict";
const element = (id) => document.getElementById(id);
const made = (name, text) => Object.assign(document.createElement(name), { textContent: text ?? "" });

async function asked(path, request) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
  const answer = await fetch(path, request ? options : {});
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

const hues = JSON.parse(element("labelled").dataset.hues);
function coloured(text, label) {
  const span = made("span", text);
  span.className = "label";
  span.style.setProperty("--hue", hues[label].toFixed(0));
  return span;
}

/* Offsets are code points; strings of JavaScript are UTF-16. */
function labelled(text, spans) {
  const paragraph = made("p");
  paragraph.className = "text";
  paragraph.dir = "auto";
  const characters = [...text];
  let end = 0;
  for (const span of spans) {
    paragraph.append(characters.slice(end, span.start).join(""));
    const part = coloured(span.text, String(span.label));
    const note = made("small", `${span.label} ${span.probability.toFixed(3)}`);
    note.className = "type";
    part.append(note);
    paragraph.append(part);
    end = span.end;
  }
  paragraph.append(characters.slice(end).join(""));
  return paragraph;
}

function row(span) {
  const line = made("tr");
  const name = made("th", span.text);
  name.scope = "row";
  line.append(name, made("td", String(span.label)), made("td", `${span.start}–${span.end}`));
  line.append(made("td", span.probability.toFixed(3)));
  return line;
}

async function label() {
  const texts = element("text").value.split("\n").filter((text) => text.trim());
  if (!texts.length) return;
  element("problem").hidden = true;
  try {
    const { results } = await asked("tag", { texts });
    element("labelled").replaceChildren(...texts.map((text, at) => labelled(text, results[at].spans)));
    element("spans").tBodies[0].replaceChildren(...results.flatMap(({ spans }) => spans.map(row)));
    element("why").replaceChildren();
    element("result").hidden = false;
    for (const text of texts) {
      const part = made("div");
      part.innerHTML = (await asked("explain", { text, html: true })).html;  /* by the server, which escapes the text */
      element("why").append(part);
    }
  } catch (error) {
    element("problem").textContent = error.message;
    element("problem").hidden = false;
  }
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  label();
});
element("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element("form").requestSubmit();
});
asked("model").then(({ labels, tokenizer }) => {
  element("model").textContent = `${labels.length} labels: ${labels.slice(0, 20).join(", ")}${labels.length > 20 ? ` and ${labels.length - 20} more` : ""}. Tokenizer: ${tokenizer}.`;
});
const given = new URLSearchParams(location.search).get("text");
if (given) {
  element("text").value = given;
  label();
}
