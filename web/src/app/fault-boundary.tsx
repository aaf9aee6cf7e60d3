import { Component, type ReactNode } from 'react'
import { Fault } from './fault'

/** What a router does for its pages. React says the error to the console itself. */
export class FaultBoundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }

  static getDerivedStateFromError() {
    return { broken: true }
  }

  override render() {
    return this.state.broken ? <Fault /> : this.props.children
  }
}
