// A unary gRPC service by @grpc/grpc-js: /echo.Echo/Say answers with the message it got. Messages
// stay bytes, so that what is measured is the runtime's HTTP/2 and not a codec.
import grpc from "@grpc/grpc-js";

const asItIs = (message) => message;
const service = {
  say: {
    path: "/echo.Echo/Say",
    requestStream: false,
    responseStream: false,
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  },
};

const server = new grpc.Server();
server.addService(service, { say: (call, answer) => answer(null, call.request) });
server.bindAsync(`127.0.0.1:${process.env.PORT}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
