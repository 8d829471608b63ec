"use strict";
// Search, filters, sorting and evidence for the cases of a report, and the switch of languages. Everything that comes
// from a client is put in as text, never as markup.
(() => {
    const html = document.documentElement;
    const read = id => {
        const element = document.getElementById(id);
        return element === null ? null : JSON.parse(element.textContent);
    };
    const settings = read("settings");
    const cases = read("cases");

    const el = (name, attributes, ...children) => {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes ?? {})) {
            if (value === undefined || value === null || value === false) continue;
            if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
            else element.setAttribute(key, value === true ? "" : value);
        }
        element.append(...children.filter(child => child !== null && child !== undefined));
        return element;
    };
    /// A client's text, kept from reordering what stands around it. What reorders text would end the element's isolate,
    /// or keep it open.
    const foreign = text => el("bdi", null, text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd"));
    /// A name of parts, which where it does not fit a line ends that behind a dot or underscore, not within a word.
    const wrapping = text =>
        text.split(/([._])/).flatMap((part, index) => index % 2 === 1 ? [part, el("wbr")] : [part]);

    // What the address says: filters, order, open cases, language.
    const parameters = () => new URLSearchParams(location.hash.slice(1));
    const remember = changes => {
        const next = parameters();
        for (const [key, value] of Object.entries(changes)) {
            if (value === "" || value === null) next.delete(key); else next.set(key, value);
        }
        const hash = next.toString();
        history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
    };

    // Languages
    const configured = html.dataset.language;
    let language = configured;
    const switches = [...document.querySelectorAll("[data-set-language]")];

    const useLanguage = name => {
        if (!switches.some(button => button.dataset.setLanguage === name)) return;
        language = name;
        html.dataset.language = name;
        html.lang = switches.find(button => button.dataset.setLanguage === name).lang;
        for (const button of switches) {
            button.setAttribute("aria-pressed", String(button.dataset.setLanguage === name));
        }
        document.title = document.querySelector(`meta[name="title-${name}"]`).content;
        for (const link of document.querySelectorAll('a[href*=".html"]')) {
            const page = link.getAttribute("href").split("#")[0];
            link.setAttribute("href", name === configured ? page : `${page}#lang=${name}`);
        }
    };
    for (const button of switches) {
        button.addEventListener("click", () => {
            remember({ lang: button.dataset.setLanguage === configured ? "" : button.dataset.setLanguage });
            useLanguage(button.dataset.setLanguage);
            redraw();
        });
        button.parentElement.hidden = false;
    }
    let redraw = () => {};
    useLanguage(parameters().get("lang") ?? configured);
    addEventListener("hashchange", () => useLanguage(parameters().get("lang") ?? configured));
    /// To a section; the address stays, which holds the filters.
    const goTo = id => {
        const heading = document.getElementById(id);
        heading.focus({ preventScroll: true });
        heading.scrollIntoView();
    };
    for (const link of document.querySelectorAll(".skip, .sections a")) {
        link.addEventListener("click", event => {
            event.preventDefault();
            goTo(link.hash.slice(1));
        });
    }
    if (settings === null || cases === null) return;

    // Words, dates and money in the reader's form
    /// A template with the words for one or for many, as in {n|case|cases}.
    const template = (key, values) => settings.languages[language].words[key].replace(
        /\{(\w+)\|([^|}]*)\|([^|}]*)\}/g, (_, name, one, many) => String(values[name]) === "1" ? one : many);
    const word = (key, values = {}) =>
        template(key, values).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
    /// A phrase whose values are pieces of the page.
    const phrase = (key, values) =>
        template(key, values).split(/(\{\w+\})/).filter(text => text !== "")
            .map(text => /^\{\w+\}$/.test(text) ? values[text.slice(1, -1)] ?? "" : text);
    const formatters = new Map();
    const formatter = (key, make) => {
        const name = `${language} ${key}`;
        if (!formatters.has(name)) formatters.set(name, make(settings.languages[language].locale));
        return formatters.get(name);
    };
    const number = value => formatter("number", locale => new Intl.NumberFormat(locale)).format(value);
    const money = (milliunits, currency) =>
        formatter(currency, locale =>
            new Intl.NumberFormat(locale, { style: "currency", currency, maximumFractionDigits: 3 }))
            .format(milliunits / 1000);
    const zoned = (locale, options) => {
        try {
            return new Intl.DateTimeFormat(locale, { ...options, timeZone: settings.timeZone });
        } catch {
            // A browser that does not know the zone still tells the moment.
            return new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" });
        }
    };
    const moment = seconds => {
        const date = new Date(seconds * 1000);
        const utc = date.toISOString().replace(".000", "");
        const text = formatter("moment", locale => zoned(locale, { dateStyle: "medium", timeStyle: "short" }))
            .format(date)
            // As the rest of the page has it: browsers give this month alone four letters.
            .replace("Sept ", "Sep ");
        return el("time", { datetime: utc, title: utc }, text);
    };
    const age = seconds => {
        const hours = Math.floor(Math.max(0, settings.now - seconds) / 3600);
        if (hours < 1) return word("underAnHour");
        if (hours === 1) return word("oneHour");
        return hours < 48 ? word("hours", { n: hours }) : word("days", { n: Math.floor(hours / 24) });
    };

    // The cases, as objects
    const field = Object.fromEntries(settings.fields.map((name, index) => [name, index]));
    const get = (row, name) => row[field[name]];
    const brackets = settings.brackets.map(name => name.split("-").map(Number));
    // In days of UTC, as finance counts.
    const day = seconds => Math.floor(seconds / 86400);
    const bracketOf = row => {
        const days = day(settings.now) - day(get(row, "purchased"));
        return brackets.findIndex(([, last]) => last === 0 || days <= last);
    };
    const product = row => settings.products[get(row, "product")];
    const idOf = index => get(cases[index], "id");
    const customerOf = index => get(cases[index], "customer");
    /// The cases of each customer who has several.
    const customers = new Map();
    cases.forEach((_, index) => {
        const customer = customerOf(index);
        if (customer === null) return;
        if (!customers.has(customer)) customers.set(customer, []);
        customers.get(customer).push(index);
    });
    const firstUser = row => get(row, "owners") > 0 ? get(row, "users")[0] : "";
    const haystacks = new Array(cases.length);
    const haystack = index => haystacks[index] ??= (() => {
        const row = cases[index];
        const receipts = get(row, "sightings").map(seen => seen[0]);
        return [
            get(row, "id"), get(row, "original"), settings.apps[get(row, "app")], ...product(row),
            ...get(row, "users"), ...get(row, "orders"), get(row, "device"), ...receipts,
        ].join("\n").toLowerCase();
    })();

    // Order
    const byText = key => (a, b) => key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
    const orders = {
        likelihood: (a, b) => get(a, "likelihood") - get(b, "likelihood"),
        user: byText(firstUser),
        transaction: byText(row => get(row, "id")),
        product: byText(row => product(row)[1] || product(row)[0]),
        price: (a, b) => byText(row => get(row, "currency"))(a, b)
            || (get(a, "price") ?? -1) - (get(b, "price") ?? -1),
        purchased: (a, b) => get(a, "purchased") - get(b, "purchased"),
        whatToDo: (a, b) => get(a, "advice") - get(b, "advice"),
    };
    const columns = Object.keys(orders);

    const unique = values => [...new Set(values)];

    // State
    const rowsShown = 50;
    const patterns = Array.from({ length: settings.patterns }, (_, index) => String(index + 1));
    const unfiltered = () =>
        ({ q: "", likelihood: new Set(), reason: "", action: "", product: "", app: "", age: "", seen: "", pattern: "" });
    const chips = settings.likelihoods;
    /// What is to be done, whichever order or user the sentence names.
    const actionOf = row => settings.advice[get(row, "advice")].replace("ForOrder", "");
    const actions = unique(settings.advice.map(name => name.replace("ForOrder", "")));
    const given = new Set(cases.flatMap(row => get(row, "reasons")));
    const advised = new Set(cases.map(actionOf));
    /// What each filter offers. What an address names besides, as one kept from another night may, is not filtered by:
    /// the table would be empty, and no filter would say why.
    const offered = {
        reason: settings.reasons.filter((_, index) => given.has(index)),
        action: actions.filter(name => advised.has(name)),
        product: settings.products.map(([id]) => id),
        app: settings.apps, age: settings.brackets, seen: ["new", "old"], pattern: patterns,
    };
    const state = { ...unfiltered(), sort: "" };
    const open = new Set();
    /// The customers whose cases are shown, and how many of each.
    const unfolded = new Map();
    let sorted = cases.map((_, index) => index);
    let found = sorted;
    /// What the table shows: each line one case, or those of a customer under one heading.
    let lines = [];
    let from = 0;
    /// The timer of an address that is yet to be told.
    let telling = 0;

    const takeAddress = () => {
        clearTimeout(telling);
        const named = parameters();
        const text = name => named.get(name) ?? "";
        state.q = text("q");
        state.likelihood = new Set(text("likelihood").split(",").filter(name => chips.includes(name)));
        for (const [name, values] of Object.entries(offered)) {
            state[name] = values.includes(text(name)) ? text(name) : "";
        }
        state.sort = columns.includes(text("sort").replace(/^-/, "")) ? text("sort") : "";
        open.clear();
        for (const id of text("open").split(",").filter(id => id !== "")) open.add(id);
        unfold(new Set([...open, ...text("customer").split(",")]));
        order();
        filter();
        const opened = lines.findIndex(line => line.some(index => open.has(idOf(index))));
        from = opened < 0 ? 0 : opened - opened % rowsShown;
    };
    /// Shows the cases of the customers whose any case is named.
    const unfold = ids => {
        unfolded.clear();
        for (const [customer, indexes] of customers) {
            if (indexes.some(index => ids.has(idOf(index)))) unfolded.set(customer, rowsShown);
        }
    };
    const tellAddress = () => remember({
        q: state.q, likelihood: [...state.likelihood].join(","), reason: state.reason, action: state.action,
        product: state.product, app: state.app, age: state.age, seen: state.seen, pattern: state.pattern,
        sort: state.sort, open: [...open].join(","),
        customer: [...unfolded.keys()].map(customer => idOf(customers.get(customer)[0])).join(","),
    });

    const order = () => {
        sorted = cases.map((_, index) => index);
        if (state.sort === "") return;
        const direction = state.sort.startsWith("-") ? -1 : 1;
        const compare = orders[state.sort.replace(/^-/, "")];
        sorted.sort((a, b) => direction * compare(cases[a], cases[b]) || a - b);
    };
    const filter = () => {
        const needles = state.q.toLowerCase().split(/\s+/).filter(text => text !== "");
        const likelihoods = chips.map(name => state.likelihood.size === 0 || state.likelihood.has(name));
        const reason = settings.reasons.indexOf(state.reason);
        const app = settings.apps.indexOf(state.app);
        const bracket = settings.brackets.indexOf(state.age);
        const pattern = Number(state.pattern);
        found = sorted.filter(index => {
            const row = cases[index];
            return likelihoods[get(row, "likelihood")]
                && (state.reason === "" || get(row, "reasons").includes(reason))
                && (state.action === "" || actionOf(row) === state.action)
                && (state.product === "" || product(row)[0] === state.product)
                && (state.app === "" || get(row, "app") === app)
                && (state.age === "" || bracketOf(row) === bracket)
                && (state.seen === "" || get(row, "isNew") === (state.seen === "new" ? 1 : 0))
                && (state.pattern === "" || get(row, "patterns").includes(pattern))
                && needles.every(needle => haystack(index).includes(needle));
        });
        gather();
        from = 0;
    };
    /// A customer stands where the first of the cases stands.
    const gather = () => {
        const places = new Map();
        lines = [];
        for (const index of found) {
            const customer = customerOf(index);
            const place = customer === null ? undefined : places.get(customer);
            if (place === undefined) {
                if (customer !== null) places.set(customer, lines.length);
                lines.push([index]);
            } else {
                lines[place].push(index);
            }
        }
    };
    const isFiltered = () => state.q !== "" || state.likelihood.size > 0
        || [state.reason, state.action, state.product, state.app, state.age, state.seen, state.pattern].some(value => value !== "");

    // Search and filters
    const tools = document.getElementById("tools");
    const status = el("p", { class: "status", role: "status" });
    const changed = () => {
        filter();
        tellAddress();
        drawRows();
    };
    const choice = (name, label, any, options) => {
        const select = el("select", { name, "aria-label": label, onchange: () => {
            state[name] = select.value;
            changed();
        } }, el("option", { value: "" }, any), ...options.map(([value, text]) => el("option", { value }, text)));
        select.value = state[name];
        return options.length > 1 || state[name] !== "" ? select : null;
    };
    const drawTools = () => {
        const search = el("input", {
            type: "search", name: "q", "aria-label": word("search"), placeholder: `${word("search")}: ${word("searchHint")}`,
            spellcheck: "false", autocomplete: "off", oninput: () => {
                state.q = search.value;
                filter();
                drawRows();
                // Browsers refuse an address that changes with each of many keystrokes.
                clearTimeout(telling);
                telling = setTimeout(tellAddress, 300);
            },
        });
        search.value = state.q;
        const likelihoods = chips.map((name, index) => el("button", {
            type: "button", class: name, "data-likelihood": name, "aria-pressed": String(state.likelihood.has(name)),
            onclick: event => {
                if (!state.likelihood.delete(name)) state.likelihood.add(name);
                event.currentTarget.setAttribute("aria-pressed", String(state.likelihood.has(name)));
                changed();
            },
        }, word(`likelihood.${name}`)));
        const products = [...new Map(settings.products.map(([id, name]) => [id, name || id]))]
            .sort((a, b) => a[1] < b[1] ? -1 : 1);
        tools.replaceChildren(
            el("div", { class: "tools", role: "search" }, search,
                el("div", { class: "chips", role: "group", "aria-label": word("likelihood") }, ...likelihoods)),
            el("div", { class: "tools", role: "group", "aria-label": word("filters") },
                choice("pattern", word("pattern"), word("anyPattern"),
                    patterns.map(name => [name, word(`pattern.${name}`)])),
                choice("reason", word("reason"), word("anyReason"),
                    offered.reason.map(name => [name, word(`reason.${name}`)])),
                choice("action", word("whatToDo"), word("anyAction"),
                    offered.action.map(name => [name, word(`${name}Name`)])),
                choice("product", word("product"), word("anyProduct"), products),
                choice("app", word("app"), word("anyApp"), settings.apps.map(app => [app, app])),
                choice("age", word("age"), word("anyAge"), settings.brackets.map(name => [name, word(`age.${name}`)])),
                choice("seen", word("seen"), word("anyTime"), [["new", word("newOnly")], ["old", word("oldOnly")]]),
                el("button", { type: "button", class: "copy-commands", onclick: async () => {
                    const chosen = found.map(index => resolving(cases[index]));
                    status.textContent = await copy(chosen.join("\n"))
                        ? word("copiedCommands", { n: number(chosen.length) }) : word("notCopied");
                } }, word("copyCommands")),
                el("button", { type: "button", class: "clear", onclick: () => {
                    Object.assign(state, unfiltered());
                    changed();
                    drawTools();
                    tools.querySelector("input").focus();
                } }, word("clear"))),
            status);
        tools.hidden = false;
    };

    // The table
    const table = document.querySelector("#cases-table table");
    const body = table.tBodies[0];
    const pager = document.getElementById("pager");

    const drawHead = () => {
        const heads = columns.map(name => {
            const direction = state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : undefined;
            const button = el("button", { type: "button", "data-sort": name, title: word("sortBy", { column: word(name) }),
                onclick: () => {
                    state.sort = state.sort === name ? `-${name}` : state.sort === `-${name}` ? "" : name;
                    order();
                    changed();
                    drawHead();
                    table.querySelector(`[data-sort="${name}"]`).focus();
                } }, word(name));
            return el("th", { scope: "col", role: "columnheader", class: name === "price" ? "figure" : null,
                "aria-sort": direction }, button);
        });
        table.tHead.setAttribute("role", "rowgroup");
        table.tHead.replaceChildren(el("tr", { role: "row" }, ...heads));
    };
    const joined = pieces => pieces.flatMap((piece, index) => index > 0 ? [", ", piece] : [piece]);
    const owners = row => get(row, "users").slice(0, get(row, "owners"));
    const advice = row => phrase(settings.advice[get(row, "advice")], {
        user: foreign(firstUser(row)), order: foreign(get(row, "orders")[0] ?? ""),
        users: el("span", null, ...joined(get(row, "users").slice(0, Math.min(5, get(row, "asked"))).map(foreign))),
    });
    const cell = (label, ...children) => el("td", { role: "cell", "data-label": label }, ...children);
    const soft = (...children) => el("span", { class: "soft" }, ...children);
    /// No line begins with the dot between two.
    const reasonsLine = reasons =>
        soft(reasons.map(reason => word(`reason.${settings.reasons[reason]}`)).join("\u00a0· "));

    const userCell = row => {
        const users = owners(row);
        if (users.length === 0) return cell(word("user"), soft(word("unknownOwner")));
        const more = users.length > 3 ? ` ${word("andMore", { n: users.length - 3 })}` : null;
        return cell(word("user"), el("span", null, ...joined(users.slice(0, 3).map(foreign)), more));
    };
    const priceCell = row => {
        const milliunits = get(row, "price");
        const known = milliunits === null
            ? [soft(word("priceUnknown"))]
            : [money(milliunits, get(row, "currency")), get(row, "listed") ? soft(word("listPrice")) : null];
        const made = cell(word("price"), ...known);
        made.classList.add("figure");
        return made;
    };
    const productCell = row => {
        const [id, name] = product(row);
        const quantity = get(row, "quantity") === 1 ? null : ` × ${get(row, "quantity")}`;
        return cell(word("product"), el("span", null, name === "" ? null : foreign(name), quantity,
            el("code", { class: "soft" }, ...wrapping(id))));
    };
    const draw = (index, standing = "case") => {
        const row = cases[index];
        const id = get(row, "id");
        const name = settings.likelihoods[get(row, "likelihood")];
        const isOpen = open.has(id);
        const button = el("button", {
            type: "button", class: "disclose", "aria-expanded": String(isOpen), "aria-controls": `evidence-${index}`,
            onclick: event => {
                event.stopPropagation();
                toggle(index);
            },
        }, el("span", { class: `badge ${name}` }, word(`likelihood.${name}`)),
        el("span", { class: "unseen" }, ` ${word("evidenceOf", { id })}`));
        const isNew = get(row, "isNew") ? el("span", { class: "badge new" }, word("isNew")) : null;
        const line = el("tr", { role: "row", class: isOpen ? `${standing} open` : standing, id: `case-${index}`,
            onclick: onRow(() => toggle(index)) },
        el("td", { role: "cell" }, button, " ", isNew), userCell(row),
        cell(word("transaction"), el("code", { class: "id" }, id)), productCell(row), priceCell(row),
        cell(word("purchased"), moment(get(row, "purchased")), soft(word("ago", { age: age(get(row, "purchased")) }))),
        el("td", { role: "cell" }, el("span", null, ...advice(row),
            reasonsLine(get(row, "reasons")))));
        return isOpen ? [line, evidence(index)] : [line];
    };
    /// A click on a row, unless it was one on something in it or the end of a selection.
    const onRow = action => event => {
        if (getSelection().isCollapsed && event.target.closest("a, button") === null) action();
    };

    // Customers
    const sumsCell = rows => {
        const sums = new Map();
        for (const row of rows.filter(row => get(row, "price") !== null)) {
            sums.set(get(row, "currency"), (sums.get(get(row, "currency")) ?? 0) + get(row, "price"));
        }
        const unpriced = rows.filter(row => get(row, "price") === null).length;
        const made = cell(word("price"), el("span", null,
            ...[...sums].map(([currency, sum]) => el("span", { class: "sum" }, money(sum, currency))),
            unpriced === 0 ? null : soft(word("unpriced", { n: number(unpriced) }))));
        made.classList.add("figure");
        return made;
    };
    const purchasesCell = (rows, total) => {
        const values = { n: number(rows.length), total: number(total), user: foreign(firstUser(rows[0])) };
        const products = unique(rows.map(row => product(row)[1] || product(row)[0]));
        const what = products.length === 1 ? foreign(products[0]) : word("productCount", { n: products.length });
        const app = settings.apps.length === 1 ? [] : [" · ", settings.apps[get(rows[0], "app")]];
        return el("td", { role: "cell", colspan: 3 },
            el("span", null, el("b", null, ...phrase(rows.length < total ? "foundPurchasesOf" : "purchasesOf", values)),
                soft(what, ...app)));
    };
    const purchasedCell = rows => {
        const oldest = rows.reduce((first, row) => Math.min(first, get(row, "purchased")), Infinity);
        return cell(word("purchased"), el("span", null, moment(oldest), soft(word("oldestOf", { age: age(oldest) }))));
    };
    const adviceCell = rows => {
        // Each purchase names its own order.
        const sentences = unique(rows.map(actionOf));
        // An element stands in one place: each sentence has its own.
        const values = () => ({ user: foreign(firstUser(rows[0])), users: foreign(firstUser(rows[0])) });
        const reasons = unique(rows.flatMap(row => get(row, "reasons"))).sort((a, b) => a - b);
        return el("td", { role: "cell" }, el("span", null,
            ...sentences.map(name => el("span", { class: "sum" }, ...phrase(name, values()))),
            reasonsLine(reasons)));
    };
    const drawCustomer = line => {
        const customer = customerOf(line[0]);
        const rows = line.map(index => cases[index]);
        const isOpen = unfolded.has(customer);
        const name = settings.likelihoods[Math.min(...rows.map(row => get(row, "likelihood")))];
        const fresh = rows.filter(row => get(row, "isNew")).length;
        const button = el("button", {
            type: "button", class: "disclose", "aria-expanded": String(isOpen), onclick: () => fold(customer),
        }, el("span", { class: `badge ${name}` }, word(`likelihood.${name}`)),
        el("span", { class: "unseen" }, " ", ...phrase("purchasesOf",
            { n: number(rows.length), user: foreign(firstUser(rows[0])) })));
        const heading = el("tr", { role: "row", class: isOpen ? "customer open" : "customer", id: `customer-${customer}`,
            onclick: onRow(() => fold(customer)) },
        el("td", { role: "cell" }, button, " ",
            fresh === 0 ? null : el("span", { class: "badge new" }, `${number(fresh)} ${word("isNew")}`)),
        purchasesCell(rows, customers.get(customer).length), sumsCell(rows), purchasedCell(rows), adviceCell(rows));
        return isOpen ? [heading, ...members(line, customer)] : [heading];
    };
    const members = (line, customer) => {
        const shown = Math.max(unfolded.get(customer), 1 + line.findLastIndex(index => open.has(idOf(index))));
        const rows = line.slice(0, shown).flatMap(index => draw(index, "case member"));
        const left = line.length - shown;
        if (left > 0) {
            const further = Math.min(rowsShown, left);
            rows.push(el("tr", { role: "row", class: "member" }, el("td", { role: "cell", colspan: columns.length },
                el("button", { type: "button", class: "more", onclick: () => {
                    unfolded.set(customer, shown + rowsShown);
                    drawRows();
                    document.querySelector(`#case-${line[shown]} .disclose`).focus();
                } }, word("moreOf", { n: number(further), left: number(left) })))));
        }
        return rows;
    };
    const fold = customer => {
        if (unfolded.delete(customer)) {
            for (const index of customers.get(customer)) open.delete(idOf(index));
        } else {
            unfolded.set(customer, rowsShown);
        }
        tellAddress();
        drawRows();
        document.querySelector(`#customer-${customer} .disclose`).focus({ preventScroll: true });
    };

    const toggle = index => {
        const line = document.getElementById(`case-${index}`);
        const id = get(cases[index], "id");
        const isOpen = !open.delete(id);
        if (isOpen) {
            open.add(id);
            line.after(evidence(index));
        } else {
            document.getElementById(`evidence-${index}`)?.remove();
        }
        line.classList.toggle("open", isOpen);
        line.querySelector(".disclose").setAttribute("aria-expanded", String(isOpen));
        tellAddress();
    };
    /// All that the filters show, on paper: so many cases make a hundred sheets.
    const mostPrinted = 2000;
    const drawForPrint = () => {
        // A browser repeats a head on each sheet without the buttons in it.
        for (const button of table.tHead.querySelectorAll("button")) button.replaceWith(button.textContent);
        let left = mostPrinted;
        const printed = lines.filter(line => (left -= line.length) >= 0);
        body.replaceChildren(...printed.flatMap(line => line.length === 1
            ? draw(line[0]) : [drawCustomer(line)[0], ...line.flatMap(index => draw(index, "case member"))]));
        const count = printed.reduce((sum, line) => sum + line.length, 0);
        if (count < found.length) {
            status.textContent = word("printed", { n: number(count), total: number(found.length) });
        }
    };
    const drawRows = () => {
        const end = Math.min(lines.length, from + rowsShown);
        body.setAttribute("role", "rowgroup");
        body.replaceChildren(
            ...lines.slice(from, end).flatMap(line => line.length === 1 ? draw(line[0]) : drawCustomer(line)));
        if (found.length === 0) {
            body.append(el("tr", { role: "row" }, el("td", { role: "cell", colspan: columns.length }, word("noMatch"))));
        }
        const total = number(cases.length);
        status.textContent = isFiltered() ? word("shownOf", { n: number(found.length), total }) : word("shown", { total });
        tools.querySelector(".clear").disabled = !isFiltered();
        drawPager(end);
    };
    const drawPager = end => {
        const turn = (name, to, isPossible) => el("button", { type: "button", class: name, disabled: !isPossible,
            onclick: () => {
                from = to;
                drawRows();
                (pager.querySelector(`.${name}:not(:disabled)`) ?? pager.querySelector("button:not(:disabled)"))
                    ?.focus({ preventScroll: true });
                table.scrollIntoView();
            } }, word(name));
        pager.hidden = lines.length <= rowsShown;
        pager.replaceChildren(
            el("span", { class: "soft" }, word("rowsFromTo",
                { from: number(Math.min(from + 1, end)), to: number(end), total: number(lines.length) })),
            turn("previousPage", from - rowsShown, from > 0), turn("nextPage", from + rowsShown, end < lines.length));
    };

    // Evidence
    const copyButton = text => el("button", { type: "button", class: "copy", "aria-label": word("copyOf", { text }),
        onclick: async event => {
            const button = event.currentTarget;
            const isCopied = await copy(text);
            status.textContent = isCopied ? word("copied", { text }) : word("notCopied");
            if (!isCopied) return;
            // Where the reader looks, too.
            button.textContent = word("copiedHere");
            setTimeout(() => { button.textContent = word("copy"); }, 2000);
        } }, word("copy"));
    /// Whether a text is on the clipboard. Who takes it for copied where it is not pastes the id of another purchase.
    const copy = async text => {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch {
            // Where the browser keeps the clipboard from a page on a disk.
            const area = el("textarea", { class: "unseen", "aria-hidden": "true" }, text);
            const focused = document.activeElement;
            document.body.append(area);
            area.select();
            const isCopied = document.execCommand("copy");
            area.remove();
            focused?.focus();
            return isCopied;
        }
    };
    const copyable = text => el("span", null, el("code", null, foreign(text)), copyButton(text));
    const evidence = index => {
        const row = cases[index];
        const panel = el("div", null, timeline(row), identity(row), why(row), commands(row));
        return el("tr", { role: "row", class: "evidence", id: `evidence-${index}` },
            el("td", { role: "cell", class: "panel", colspan: columns.length }, panel));
    };
    // An id may be any visible ASCII: it is one word of the shell's, and behind the options where it begins like one.
    const command = (name, id, options) => {
        const argument = /^[\w.:-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`;
        return `iap-reconcile ${name} ${id.startsWith("-") ? `${options} -- ${argument}` : `${argument} ${options}`}`;
    };
    // Without a user, `resolve` takes the one for whom anything speaks, or nobody: who was asked first is to be named.
    const isOneCertainOwner = row => get(row, "owners") === 1
        && !get(row, "reasons").some(reason => settings.reasons[reason] === "owner_uncertain");
    const resolving = row => command("resolve", get(row, "id"),
        isOneCertainOwner(row) ? '--delivered --by "" --note ""' : '--delivered --user "" --by "" --note ""');
    const commands = row => {
        const id = get(row, "id");
        return el("section", { class: "commands" }, el("h3", null, word("commands")),
            el("ul", null, ...[resolving(row), command("resolve", id, '--dismissed --by "" --note ""'),
                command("take", id, '--by ""'), command("note", id, '--by "" --note ""')]
                .map(text => el("li", null, copyable(text)))));
    };
    const timeline = row => {
        const users = get(row, "users");
        const orderIDs = get(row, "orders");
        const by = user => user === null ? [word("nobody")] : phrase("byUser", { user: foreign(users[user]) });
        const withOrder = order => order === null ? [] : [", ", ...phrase("withOrder", { order: foreign(orderIDs[order]) })];
        // What a night does all at once comes in the order in which one follows from the other.
        const events = [[get(row, "purchased"), [word("purchased")]]];
        for (const [receipt, user, order, how, at] of get(row, "sightings")) {
            const what = word(settings.seen[how], { receipt });
            events.push([at, [what, ", ", ...by(user), ...withOrder(order)]]);
        }
        for (const [outcome, user, order, , at] of get(row, "claims")) {
            const what = word("claimBy", { outcome: word(`outcome.${settings.outcomes[outcome]}`) });
            events.push([at, [what, ", ", ...by(user), ...withOrder(order)]]);
        }
        if (get(row, "verified") !== null) events.push([get(row, "verified"), [word("firstVerified")]]);
        events.push([get(row, "opened"), [word("becameCase")]]);
        if (get(row, "confirmed") !== null && get(row, "confirmed") !== get(row, "verified")) {
            events.push([get(row, "confirmed"), [word("lastVerified")]]);
        }
        const [taker, takenAt] = get(row, "taken");
        if (taker !== undefined) events.push([takenAt, phrase("takenBy", { who: foreign(taker) })]);
        for (const [at, who, text] of get(row, "comments")) {
            events.push([at, phrase("commentBy", { who: foreign(who), text: foreign(text) })]);
        }
        if (get(row, "answerBy") !== null) events.push([get(row, "answerBy"), [word("answerApple")]]);
        events.sort((a, b) => a[0] - b[0]);
        return el("section", null, el("h3", null, word("timeline")),
            el("ol", null, ...events.map(([at, what]) => el("li", null, moment(at), el("span", null, ...what)))));
    };
    const identity = row => {
        const facts = [[word("transaction"), [copyable(get(row, "id"))]]];
        const fact = (label, ...value) => facts.push([label, value]);
        if (get(row, "original") !== "") fact(word("originalTransaction"), copyable(get(row, "original")));
        for (const user of get(row, "users")) fact(word("user"), copyable(user));
        for (const order of get(row, "orders")) fact(word("order"), copyable(order));
        for (const [receipt] of get(row, "sightings")) fact(word("receipt"), copyable(String(receipt)));
        fact(word("app"), settings.apps[get(row, "app")]);
        fact(word("environment"), settings.environments[get(row, "environment")]);
        if (get(row, "device") !== "") fact(word("device"), foreign(get(row, "device")));
        fact(word("verifiedBy"), word(`source.${settings.sources[get(row, "source")]}`));
        return el("section", null, el("h3", null, word("ids")),
            el("dl", null, ...facts.flatMap(([label, value]) => [el("dt", null, label), el("dd", null, ...value)])));
    };
    const subscription = row => {
        const [periods, paidUntil, grantedUntil] = get(row, "subscription");
        if (periods === undefined) return [];
        const until = (name, seconds) => el("li", null, word(name), " ", moment(seconds));
        return [el("ul", null,
            el("li", null, word("paidPeriods", { n: periods })),
            paidUntil === null ? null : until("paidUntil", paidUntil),
            grantedUntil === null ? el("li", null, word("neverGranted")) : until("grantedUntil", grantedUntil))];
    };
    const why = row => el("section", null, el("h3", null, word("why")),
        el("ul", null, ...get(row, "reasons").map(reason =>
            el("li", null, word(`sentence.${settings.reasons[reason]}`)))),
        ...subscription(row),
        el("p", { class: "advice" }, ...advice(row)));

    redraw = () => {
        drawTools();
        drawHead();
        drawRows();
    };
    table.caption?.remove();
    table.setAttribute("role", "table");
    table.setAttribute("aria-labelledby", "cases-heading");
    const follow = () => {
        takeAddress();
        redraw();
        table.querySelector("tr.case.open")?.scrollIntoView();
    };
    follow();
    addEventListener("hashchange", follow);
    addEventListener("beforeprint", drawForPrint);
    addEventListener("afterprint", () => {
        drawHead();
        drawRows();
    });
    for (const link of document.querySelectorAll("[data-pattern]")) {
        link.addEventListener("click", event => {
            event.preventDefault();
            Object.assign(state, unfiltered(), { pattern: link.dataset.pattern });
            changed();
            drawTools();
            goTo("cases-heading");
        });
    }
    // A search must not wait for this at its first keystroke.
    const prepare = (start = 0) => {
        const end = Math.min(cases.length, start + 2000);
        for (let index = start; index < end; index += 1) haystack(index);
        if (end < cases.length) setTimeout(prepare, 0, end);
    };
    setTimeout(prepare, 0);
    addEventListener("keydown", event => {
        if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
        if (["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName)) return;
        event.preventDefault();
        tools.querySelector("input").focus();
    });
})();
