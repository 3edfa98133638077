-- What the tests drive Neovim with: one function that runs Lua from JSON and answers JSON.

vim.g.loaded_python3_provider = 0 -- looking for it takes seconds

local chosen = nil
local messages = {}

-- There is nobody at the keyboard: menus take the choice that the test has made.
vim.ui.select = function(items, options, on_choice)
  local format = options.format_item or tostring
  table.insert(messages, options.prompt)
  for _, item in ipairs(items) do
    if format(item) == chosen then
      return on_choice(item)
    end
  end
  on_choice(nil)
end

vim.notify = function(message)
  table.insert(messages, message)
end

local begun = {}

vim.api.nvim_create_autocmd('LspProgress', {
  pattern = 'begin',
  callback = function(event)
    table.insert(begun, event.data.params.value.title)
  end,
})

-- The titles of all progress that was begun.
function Progress()
  return begun
end

function Choose(title)
  chosen = title
end

function Messages()
  return messages
end

function Wait(condition, seconds)
  local found
  local met = vim.wait((seconds or 20) * 1000, function()
    found = condition()
    return found
  end, 10)
  return met and found or error('not in time; messages: ' .. vim.inspect(messages), 0)
end

-- Diagnostics of a file, from the top: line, severity, code and message.
function Diagnostics(path)
  local buffer = vim.fn.bufnr(path)
  if buffer == -1 then
    return {}
  end
  local found = vim.tbl_map(function(one)
    return {
      line = one.lnum,
      column = one.col,
      end_column = one.end_col,
      severity = vim.diagnostic.severity[one.severity],
      code = one.code,
      message = one.message,
    }
  end, vim.diagnostic.get(buffer))
  table.sort(found, function(a, b)
    return a.line < b.line
  end)
  return found
end

-- One request to our server, answered.
function Ask(method, params, seconds)
  local client = vim.lsp.get_clients({ name = 'donewhen' })[1]
  local answer = assert(client:request_sync(method, params, (seconds or 60) * 1000, vim.api.nvim_get_current_buf()))
  return answer.err and error(vim.inspect(answer.err), 0) or answer.result
end

function Execute(command, argument)
  return Ask('workspace/executeCommand', { command = command, arguments = { argument } })
end

function Drive(encoded)
  local ok, value = xpcall(function()
    local given = vim.json.decode(vim.base64.decode(encoded))
    return assert(load(given.code))(unpack(given.arguments))
  end, function(problem)
    return type(problem) == 'string' and problem or vim.inspect(problem)
  end)
  if value == nil then
    value = vim.NIL
  end
  return vim.json.encode(ok and { value = value } or { problem = value })
end
