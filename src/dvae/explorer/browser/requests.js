// What is asked of the server: words while it takes long, words when it fails, and no error longer than it lasts.
(function () {
  const SOON = 350;  // milliseconds after which a wait is said
  const WORDS = [  // of what is being done, by what it gives
    ["run-map", "Placing the DAG on the other maps"], ["walk-drawing", "Decoding the walk"], ["grid.", "Decoding the neighbourhood"],
    ["gallery-cards", "Drawing the gallery"], ["shown-trials", "Reading the study"], ["trial-rows", "Reading the trials"],
    ["shown-plane", "Drawing the map"], ["download.", "Writing the file"], ["drawing.", "Finding out about this DAG"],
    ["current.", "Looking for the DAG"], ["map.figure", "Drawing the map"],
  ];
  const open = new Map();
  let failed = null, number = 0, requests = 0;

  const say = text => {
    const close = { type: "Button", namespace: "dash_html_components",
                    props: { children: "Close", className: "quiet small", "data-close": "message" } };
    const words = { type: "Span", namespace: "dash_html_components", props: { children: text } };
    dash_clientside.set_props("message", { children: [words, close], className: "message shown" });
  };

  function show() {
    const busy = document.getElementById("busy");
    if (!busy) return;
    const [first] = [...open.values()].filter(each => each.late);
    busy.textContent = first ? first.words + " …" : "";
    busy.classList.toggle("shown", Boolean(first));
  }

  function begin(output) {
    const key = ++number, found = WORDS.find(([part]) => output.includes(part));
    const wait = { words: found ? found[1] : "Working", late: false };
    open.set(key, wait);
    setTimeout(() => { wait.late = true; if (open.has(key)) show(); }, SOON);
    return () => { open.delete(key); show(); };
  }

  // An error goes once what failed has succeeded; whoever chooses another DAG has moved on, too. Answers to what was
  // asked before it, and took longer, say nothing about it.
  function settled(output, answer, asked) {
    answer.text().then(text => {
      if (text.includes('"sideUpdate"') && text.includes("message shown")) failed = { output, asked };
      else if (failed && asked > failed.asked && (failed.output === output || text.includes('"current"'))) {
        failed = null;
        dash_clientside.set_props("message", { className: "message" });
      }
    }, () => {});
  }

  const fetched = window.fetch;
  window.fetch = async function (...request) {
    const asked = ++requests;
    let output = "", answer;
    try { output = JSON.parse(request[1].body).output || ""; } catch (error) { /* not one of ours */ }
    const end = output ? begin(output) : () => {};
    try { answer = await fetched.apply(this, request); }
    catch (error) { say("The program behind this page does not answer; is it still running?"); throw error; }
    finally { end(); }
    if (!answer.ok) answer.clone().json().then(body => say(body.message || "The request failed."), () => say("The request failed."));
    else if (output && answer.status === 200) settled(output, answer.clone(), asked);
    return answer;
  };

  document.addEventListener("click", event => {
    if (event.target.dataset && event.target.dataset.close) dash_clientside.set_props("message", { className: "message" });
  });
})();
