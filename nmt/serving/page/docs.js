// Draws the routes of the server from its own description, with a form for each route that can be tried here.

const find = (id) => document.getElementById(id);
const address = new URL('.', location).href; // of the folder of this page and the routes, any prefix included

function make(name, text = '', className = '') {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

/** Return the part of a description that a `$ref` points to; without one, the part itself. */
function resolve(spec, part) {
  return part.$ref ? part.$ref.split('/').slice(1).reduce((one, name) => one[name], spec) : part;
}

function kindOf(schema) {
  const kinds = (schema.anyOf ?? [schema]).flatMap((one) => one.type ?? []);
  return kinds.filter((kind) => kind !== 'null').map((kind) => (kind === 'array' ? 'list' : kind)).join(' or ');
}

function drawFields(spec, schema) {
  const list = make('dl');
  for (const [name, property] of Object.entries(schema.properties)) {
    const field = resolve(spec, property);
    const term = make('dt', name);
    term.append(make('small', kindOf(field) + (schema.required?.includes(name) ? ', needed' : '')));
    const preset = field.default === undefined ? '' : `; ${JSON.stringify(field.default)} if it is not there`;
    list.append(term, make('dd', `${field.description ?? ''}${preset}`));
  }
  return list;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Return the curl command that sends the same request as the page. */
function curl(path, content, isForm) {
  const whole = quoted(address + path.slice(1));
  if (isForm) {
    return `curl ${whole} ${Object.entries(content).map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`).join(' ')}`;
  }
  return content ? `curl ${whole} -H 'Content-Type: application/json' -d ${quoted(content)}` : `curl ${whole}`;
}

async function send(path, content, state, answer) {
  state.textContent = 'Asked …';
  const options = content ? { method: 'POST', body: content, headers: { 'Content-Type': 'application/json' } } : {};
  try {
    const response = await fetch(address + path.slice(1), options);
    const text = await response.text();
    state.textContent = `${response.status} ${response.statusText}`;
    answer.textContent = response.headers.get('content-type').startsWith('application/json')
      ? JSON.stringify(JSON.parse(text), null, 2) : text;
    answer.hidden = false;
  } catch {
    state.textContent = 'The server cannot be reached.';
  }
}

/** Return a form that tries a route, with its fields as JSON, if it has any, the curl command, and the answer. */
function drawTrial(path, example) {
  const form = make('form');
  const command = make('pre');
  const body = example && make('textarea');
  const [row, state, answer] = [make('div', '', 'send'), make('output'), make('pre', '', 'answer')];
  const say = () => { command.textContent = curl(path, body?.value.replace(/\n\s*/g, ' ')); };
  if (body) {
    Object.assign(body, { value: JSON.stringify(example, null, 2), rows: 6, spellcheck: false });
    body.setAttribute('aria-label', `Fields of ${path}`);
    body.addEventListener('input', say);
    form.append(make('h3', 'Try it'), body);
  }
  answer.hidden = true;
  answer.tabIndex = 0;
  answer.setAttribute('aria-label', 'Answer');
  row.append(make('button', 'Send', 'main'), state);
  form.append(row, answer, make('h3', 'In a terminal'), command);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(path, body?.value, state, answer);
  });
  say();
  return form;
}

function drawRoute(spec, path, method, route, given) {
  const box = make('details', '', 'route');
  const [summary, title] = [make('summary'), make('h2')];
  title.append(make('span', method.toUpperCase(), 'method'), ` ${path}`);
  summary.append(title, make('span', route.summary));
  box.append(summary);
  const content = route.requestBody?.content;
  const [kind, body] = Object.entries(content ?? {})[0] ?? [];
  if (body) box.append(make('h3', 'Fields'), drawFields(spec, resolve(spec, body.schema)));
  const example = body?.example && Object.fromEntries(Object.entries({ ...body.example, ...given })
    .filter(([name]) => name in resolve(spec, body.schema).properties));
  if (kind === 'multipart/form-data') box.append(make('h3', 'In a terminal'), make('pre', curl(path, example, true)));
  else if (!path.includes('{')) box.append(drawTrial(path, example));
  const statuses = {};
  for (const [status, one] of Object.entries(route.responses)) (statuses[resolve(spec, one).description] ??= []).push(status);
  const said = Object.entries(statuses).map(([meaning, some]) => make('p', `${some.join(', ')}: ${meaning}`));
  box.append(make('h3', 'Answers'), ...said);
  return box;
}

/** Return values for the examples: two languages of this server, and an empty key if it needs one. */
function given(languages, settings) {
  const from = languages.find((one) => one.targets.some((other) => other !== one.code));
  const pair = from && { source: from.code, target: from.targets.find((other) => other !== from.code) };
  return { ...pair, ...(settings.keyRequired && { api_key: '' }) };
}

async function begin() {
  const read = async (path) => (await fetch(address + path)).json();
  const [spec, languages, settings] = await Promise.all(['spec', 'languages', 'frontend/settings'].map(read));
  find('about').textContent = `${spec.info.summary} ${spec.info.description}`;
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const [method, route] of Object.entries(methods)) {
      find('routes').append(drawRoute(spec, path, method, route, given(languages, settings)));
    }
  }
  find('routes').firstElementChild.open = true;
}

begin().catch(() => {
  find('mistake').hidden = false;
  find('mistake-text').textContent = 'The server cannot be reached.';
});
