//! Errors over HTTP. The only place that knows status codes.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ops::Error;
use serde_json::json;

pub(crate) fn refuse(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.code.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"error": {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "retry": error.code.retry(),
        "details": error.details,
    }});
    (status, Json(body)).into_response()
}
