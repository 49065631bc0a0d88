/**
 * The protocol's generated messages and services, as the client package carries them: the one place that knows where
 * they come from. They are CommonJS without named exports, hence the default imports. The package does not document
 * them as an interface of its own, so the tests use one exact version.
 */
import type { IGossipServer } from "@eventstore/db-client/generated/gossip_grpc_pb.js";
import gossipServices from "@eventstore/db-client/generated/gossip_grpc_pb.js";
import gossip from "@eventstore/db-client/generated/gossip_pb.js";
import type { IServerFeaturesServer } from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import featureServices from "@eventstore/db-client/generated/serverfeatures_grpc_pb.js";
import features from "@eventstore/db-client/generated/serverfeatures_pb.js";
import shared from "@eventstore/db-client/generated/shared_pb.js";
import rpcStatus from "@eventstore/db-client/generated/status_pb.js";
import type { IStreamsServer } from "@eventstore/db-client/generated/streams_grpc_pb.js";
import streamServices from "@eventstore/db-client/generated/streams_grpc_pb.js";
import streams from "@eventstore/db-client/generated/streams_pb.js";

export const { StreamsClient, StreamsService } = streamServices;
export const { ServerFeaturesService } = featureServices;
export const { GossipService } = gossipServices;
/** What a service has to implement, with the types of its messages. */
export interface Handlers {
  readonly streams: IStreamsServer;
  readonly features: IServerFeaturesServer;
  readonly gossip: IGossipServer;
}
export { features, gossip, rpcStatus, shared, streams };
