import { useEffect } from 'react'
import { useRouteError } from 'react-router'
import { Fault } from './fault'

/** The rest of the app goes on. */
export function RouteFault() {
  const error = useRouteError()
  useEffect(() => {
    console.error(error)
  }, [error])
  return <Fault />
}
