import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './app/styles.css'
import { App } from './app/app'
import { StartupFault } from './app/startup-fault'
import { readConfig } from './lib/config'
import './lib/theme'

function fault(): string | null {
  try {
    readConfig()
    return null
  } catch (error) {
    console.error(error)
    return error instanceof Error ? error.message : String(error)
  }
}

const root = document.getElementById('root')
if (root) {
  const message = fault()
  createRoot(root).render(<StrictMode>{message ? <StartupFault message={message} /> : <App />}</StrictMode>)
}
